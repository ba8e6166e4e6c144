"""The standards' examples of Keccak's functions as they are printed; sha3_vectors.py asserts that they come out."""


def ptn(n):
    """RFC 9861, 5: the same pattern as sm3.py's painted bytes, which take too long for so many."""
    return (bytes(range(0xFB)) * (n // 0xFB + 1))[:n]


# NIST's example values for FIPS 202: the messages of 0 and 1600 bits, 200 bytes of a3. Outputs of SHAKE are cut.
FIPS_202 = [
    ("SHA3-224", b"",
     "6b4e03423667dbb73b6e15454f0eb1abd4597f9a1b078e3f5b5a6bc7"),
    ("SHA3-224", b"\xa3" * 200,
     "9376816aba503f72f96ce7eb65ac095deee3be4bf9bbc2a1cb7e11e0"),
    ("SHA3-256", b"",
     "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"),
    ("SHA3-256", b"\xa3" * 200,
     "79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787"),
    ("SHA3-384", b"",
     "0c63a75b845e4f7d01107d852e4c2485c51a50aaaa94fc61995e71bbee983a2ac3713831264adb47fb6bd1e058d5f004"),
    ("SHA3-384", b"\xa3" * 200,
     "1881de2ca7e41ef95dc4732b8f5f002b189cc1e42b74168ed1732649ce1dbcdd76197a31fd55ee989f2d7050dd473e8f"),
    ("SHA3-512", b"",
     "a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a615b2123af1f5f94c11e3e9402c3ac558"
     "f500199d95b6d3e301758586281dcd26"),
    ("SHA3-512", b"\xa3" * 200,
     "e76dfad22084a8b1467fcf2ffa58361bec7628edf5f3fdc0e4805dc48caeeca81b7c13c30adf52a3659584739a2df46b"
     "e589c51ca1a4a8416df6545a1ce8ba00"),
    ("SHAKE128", b"",
     "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef263cb1eea988004b93103cfb0aeefd2a68"
     "6e01fa4a58e8a3639ca8a1e3f9ae57e2"),
    ("SHAKE128", b"\xa3" * 200,
     "131ab8d2b594946b9c81333f9bb6e0ce75c3b93104fa3469d3917457385da037cf232ef7164a6d1eb448c8908186ad85"
     "2d3f85a5cf28da1ab6fe343817197846"),
    ("SHAKE256", b"",
     "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762fd75dc4ddd8c0f200cb05019d67b592f6"
     "fc821c49479ab48640292eacb3b7c4be"),
    ("SHAKE256", b"\xa3" * 200,
     "cd8a920ed141aa0407a22d59288652e9d9f1a7ee0c1e7c1ca699424da84a904d2d700caae7396ece96604440577da4f3"
     "aa22aeb8857f961c4cd8e06f0ae6610b"),
]

# The same of the submission to the competition, of the messages that everybody quotes.
KECCAK = [
    ("Keccak-256", b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
    ("Keccak-256", b"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
]

# NIST's samples for SP 800-185: cSHAKE, whose function-name string is empty there.
CSHAKE = [
    ("#1", 128, bytes(range(4)), b"Email Signature",
     "c1c36925b6409a04f1b504fcbca9d82b4017277cb5ed2b2065fc1d3814d5aaf5"),
    ("#2", 128, bytes(range(200)), b"Email Signature",
     "c5221d50e4f822d96a2e8881a961420f294b7b24fe3d2094baed2c6524cc166b"),
    ("#3", 256, bytes(range(4)), b"Email Signature",
     "d008828e2b80ac9d2218ffee1d070c48b8e4c87bff32c9699d5b6896eee0edd1"
     "64020e2be0560858d9c00c037e34a96937c561a74c412bb4c746469527281c8c"),
    ("#4", 256, bytes(range(200)), b"Email Signature",
     "07dc27b11e51fbac75bc7b3c1d983e8b4b85fb1defaf218912ac864302730917"
     "27f42b17ed1df63e8ec118f04b23633c1dfb1574c8fb55cb45da8e25afb092bb"),
]

# The same: KMAC and KMACXOF under the key 40 41 ... 5f.
KMAC_KEY = bytes(range(0x40, 0x60))
TAGGED = b"My Tagged Application"
KMAC = [
    ("KMAC128", "#1", bytes(range(4)), b"",
     "e5780b0d3ea6f7d3a429c5706aa43a00fadbd7d49628839e3187243f456ee14e"),
    ("KMAC128", "#2", bytes(range(4)), TAGGED,
     "3b1fba963cd8b0b59e8c1a6d71888b7143651af8ba0a7070c0979e2811324aa5"),
    ("KMAC128", "#3", bytes(range(200)), TAGGED,
     "1f5b4e6cca02209e0dcb5ca635b89a15e271ecc760071dfd805faa38f9729230"),
    ("KMAC256", "#4", bytes(range(4)), TAGGED,
     "20c570c31346f703c9ac36c61c03cb64c3970d0cfc787e9b79599d273a68d2f7"
     "f69d4cc3de9d104a351689f27cf6f5951f0103f33f4f24871024d9c27773a8dd"),
    ("KMAC256", "#5", bytes(range(200)), b"",
     "75358cf39e41494e949707927cee0af20a3ff553904c86b08f21cc414bcfd691"
     "589d27cf5e15369cbbff8b9a4c2eb17800855d0235ff635da82533ec6b759b69"),
    ("KMAC256", "#6", bytes(range(200)), TAGGED,
     "b58618f71f92e1d56c1b8c55ddd7cd188b97b4ca4d99831eb2699a837da2e4d9"
     "70fbacfde50033aea585f1a2708510c32d07880801bd182898fe476876fc8965"),
    ("KMACXOF128", "#1", bytes(range(4)), b"",
     "cd83740bbd92ccc8cf032b1481a0f4460e7ca9dd12b08a0c4031178bacd6ec35"),
    ("KMACXOF128", "#2", bytes(range(4)), TAGGED,
     "31a44527b4ed9f5c6101d11de6d26f0620aa5c341def41299657fe9df1a3b16c"),
    ("KMACXOF128", "#3", bytes(range(200)), TAGGED,
     "47026c7cd793084aa0283c253ef658490c0db61438b8326fe9bddf281b83ae0f"),
    ("KMACXOF256", "#4", bytes(range(4)), TAGGED,
     "1755133f1534752aad0748f2c706fb5c784512cab835cd15676b16c0c6647fa9"
     "6faa7af634a0bf8ff6df39374fa00fad9a39e322a7c92065a64eb1fb0801eb2b"),
    ("KMACXOF256", "#5", bytes(range(200)), b"",
     "ff7b171f1e8a2b24683eed37830ee797538ba8dc563f6da1e667391a75edc02c"
     "a633079f81ce12a25f45615ec89972031d18337331d24ceb8f8ca8e6a19fd98b"),
    ("KMACXOF256", "#6", bytes(range(200)), TAGGED,
     "d5be731c954ed7732846bb59dbe3a8e30f83e77a4bff4459f2f1c2b4ecebb8ce"
     "67ba01c62e8ab8578d2d499bd1bb276768781190020a306a97de281dcc30305d"),
]

# RFC 9861, 5: message, domain byte D, length of the output, and its last bytes as they are printed.
TURBOSHAKE = [
    ("TurboSHAKE128", b"", 0x1f, 32,
     "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c"),
    ("TurboSHAKE128", b"", 0x1f, 64,
     "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c3e8ccae2a4dae56c84a04c2385c03c15"
     "e8193bdf58737363321691c05462c8df"),
    ("TurboSHAKE128", b"", 0x1f, 10032,
     "a3b9b0385900ce761f22aed548e754da10a5242d62e8c658e3f3a923a7555607"),
    ("TurboSHAKE128", ptn(1), 0x1f, 32,
     "55cedd6f60af7bb29a4042ae832ef3f58db7299f893ebb9247247d856958daa9"),
    ("TurboSHAKE128", ptn(17), 0x1f, 32,
     "9c97d036a3bac819db70ede0ca554ec6e4c2a1a4ffbfd9ec269ca6a111161233"),
    ("TurboSHAKE128", ptn(17**2), 0x1f, 32,
     "96c77c279e0126f7fc07c9b07f5cdae1e0be60bdbe10620040e75d7223a624d2"),
    ("TurboSHAKE128", ptn(17**3), 0x1f, 32,
     "d4976eb56bcf118520582b709f73e1d6853e001fdaf80e1b13e0d0599d5fb372"),
    ("TurboSHAKE128", ptn(17**4), 0x1f, 32,
     "da67c7039e98bf530cf7a37830c6664e14cbab7f540f58403b1b82951318ee5c"),
    ("TurboSHAKE128", ptn(17**5), 0x1f, 32,
     "b97a906fbf83ef7c812517abf3b2d0aea0c4f60318ce11cf103925127f59eecd"),
    ("TurboSHAKE128", ptn(17**6), 0x1f, 32,
     "35cd494adeded2f25239af09a7b8ef0c4d1ca4fe2d1ac370fa63216fe7b4c2b1"),
    ("TurboSHAKE128", b"\xff" * 3, 0x01, 32,
     "bf323f940494e88ee1c540fe660be8a0c93f43d15ec006998462fa994eed5dab"),
    ("TurboSHAKE128", b"\xff" * 1, 0x06, 32,
     "8ec9c66465ed0d4a6c35d13506718d687a25cb05c74cca1e42501abd83874a67"),
    ("TurboSHAKE128", b"\xff" * 3, 0x07, 32,
     "b658576001cad9b1e5f399a9f77723bba05458042d68206f7252682dba3663ed"),
    ("TurboSHAKE128", b"\xff" * 7, 0x0b, 32,
     "8deeaa1aec47ccee569f659c21dfa8e112db3cee37b18178b2acd805b799cc37"),
    ("TurboSHAKE128", b"\xff" * 1, 0x30, 32,
     "553122e2135e363c3292bed2c6421fa232bab03daa07c7d6636603286506325b"),
    ("TurboSHAKE128", b"\xff" * 3, 0x7f, 32,
     "16274cc656d44cefd422395d0f9053bda6d28e122aba15c765e5ad0e6eaf26f9"),
    ("TurboSHAKE256", b"", 0x1f, 64,
     "367a329dafea871c7802ec67f905ae13c57695dc2c6663c61035f59a18f8e7db11edc0e12e91ea60eb6b32df06dd7f00"
     "2fbafabb6e13ec1cc20d995547600db0"),
    ("TurboSHAKE256", b"", 0x1f, 10032,
     "abefa11630c661269249742685ec082f207265dccf2f43534e9c61ba0c9d1d75"),
    ("TurboSHAKE256", ptn(1), 0x1f, 64,
     "3e1712f928f8eaf1054632b2aa0a246ed8b0c378728f60bc970410155c28820e90cc90d8a3006aa2372c5c5ea176b068"
     "2bf22bae7467ac94f74d43d39b0482e2"),
    ("TurboSHAKE256", ptn(17), 0x1f, 64,
     "b3bab0300e6a191fbe6137939835923578794ea54843f5011090fa2f3780a9e5cb22c59d78b40a0fbff9e672c0fbe097"
     "0bd2c845091c6044d687054da5d8e9c7"),
    ("TurboSHAKE256", ptn(17**2), 0x1f, 64,
     "66b810db8e90780424c0847372fdc95710882fde31c6df75beb9d4cd9305cfcae35e7b83e8b7e6eb4b78605880116316"
     "fe2c078a09b94ad7b8213c0a738b65c0"),
    ("TurboSHAKE256", ptn(17**3), 0x1f, 64,
     "c74ebc919a5b3b0dd1228185ba02d29ef442d69d3d4276a93efe0bf9a16a7dc0cd4eabadab8cd7a5edd96695f5d360ab"
     "e09e2c6511a3ec397da3b76b9e1674fb"),
    ("TurboSHAKE256", ptn(17**4), 0x1f, 64,
     "02cc3a8897e6f4f6ccb6fd46631b1f5207b66c6de9c7b55b2d1a23134a170afdac234eaba9a77cff88c1f020b7372461"
     "8c5687b362c430b248cd38647f848a1d"),
    ("TurboSHAKE256", ptn(17**5), 0x1f, 64,
     "add53b06543e584b5823f626996aee50fe45ed15f20243a7165485acb4aa76b4ffda75cedf6d8cdc95c332bd56f4b986"
     "b58bb17d1778bfc1b1a97545cdf4ec9f"),
    ("TurboSHAKE256", ptn(17**6), 0x1f, 64,
     "9e11bc59c24e73993c1484ec66358ef71db74aefd84e123f7800ba9c4853e02cfe701d9e6bb765a304f0dc34a4ee3ba8"
     "2c410f0da70e86bfbd90ea877c2d6104"),
    ("TurboSHAKE256", b"\xff" * 3, 0x01, 64,
     "d21c6fbbf587fa2282f29aea620175fb0257413af78a0b1b2a87419ce031d933ae7a4d383327a8a17641a34f8a1d1003"
     "ad7da6b72dba84bb62fef28f62f12424"),
    ("TurboSHAKE256", b"\xff" * 1, 0x06, 64,
     "738d7b4e37d18b7f22ad1b5313e357e3dd7d07056a26a303c433fa3533455280f4f5a7d4f700efb437fe6d281405e07b"
     "e32a0a972e22e63adc1b090daefe004b"),
    ("TurboSHAKE256", b"\xff" * 3, 0x07, 64,
     "18b3b5b7061c2e67c1753a00e6ad7ed7ba1c906cf93efb7092eaf27fbeebb755ae6e292493c110e48d260028492b8e09"
     "b5500612b8f2578985ded5357d00ec67"),
    ("TurboSHAKE256", b"\xff" * 7, 0x0b, 64,
     "bb36764951ec97e9d85f7ee9a67a7718fc005cf42556be79ce12c0bde50e5736d6632b0d0dfb202d1bbb8ffe3dd74cb0"
     "0834fa756cb03471bab13a1e2c16b3c0"),
    ("TurboSHAKE256", b"\xff" * 1, 0x30, 64,
     "f3fe12873d34bcbb2e608779d6b70e7f86bec7e90bf113cbd4fdd0c4e2f4625e148dd7ee1a52776cf77f240514d9ccfc"
     "3b5ddab8ee255e39ee389072962c111a"),
    ("TurboSHAKE256", b"\xff" * 3, 0x7f, 64,
     "abe569c1f77ec340f02705e7d37c9ab7e155516e4a6a150021d70b6fac0bb40c069f9a9828a0d575cd99f9bae435ab1a"
     "cf7ed9110ba97ce0388d074bac768776"),
]

# The same: message, customization, length of the output, and its last bytes.
KT = [
    ("KT128", b"", b"", 32,
     "1ac2d450fc3b4205d19da7bfca1b37513c0803577ac7167f06fe2ce1f0ef39e5"),
    ("KT128", b"", b"", 64,
     "1ac2d450fc3b4205d19da7bfca1b37513c0803577ac7167f06fe2ce1f0ef39e54269c056b8c82e48276038b6d292966c"
     "c07a3d4645272e31ff38508139eb0a71"),
    ("KT128", b"", b"", 10032,
     "e8dc563642f7228c84684c898405d3a834799158c079b12880277a1d28e2ff6d"),
    ("KT128", ptn(1), b"", 32,
     "2bda92450e8b147f8a7cb629e784a058efca7cf7d8218e02d345dfaa65244a1f"),
    ("KT128", ptn(17), b"", 32,
     "6bf75fa2239198db4772e36478f8e19b0f371205f6a9a93a273f51df37122888"),
    ("KT128", ptn(17**2), b"", 32,
     "0c315ebcdedbf61426de7dcf8fb725d1e74675d7f5327a5067f367b108ecb67c"),
    ("KT128", ptn(17**3), b"", 32,
     "cb552e2ec77d9910701d578b457ddf772c12e322e4ee7fe417f92c758f0d59d0"),
    ("KT128", ptn(17**4), b"", 32,
     "8701045e22205345ff4dda05555cbb5c3af1a771c2b89baef37db43d9998b9fe"),
    ("KT128", ptn(17**5), b"", 32,
     "844d610933b1b9963cbdeb5ae3b6b05cc7cbd67ceedf883eb678a0a8e0371682"),
    ("KT128", ptn(17**6), b"", 32,
     "3c390782a8a4e89fa6367f72feaaf13255c8d95878481d3cd8ce85f58e880af8"),
    ("KT128", b"", ptn(1), 32,
     "fab658db63e94a246188bf7af69a133045f46ee984c56e3c3328caaf1aa1a583"),
    ("KT128", b"\xff" * 1, ptn(41), 32,
     "d848c5068ced736f4462159b9867fd4c20b808acc3d5bc48e0b06ba0a3762ec4"),
    ("KT128", b"\xff" * 3, ptn(41**2), 32,
     "c389e5009ae57120854c2e8c64670ac01358cf4c1baf89447a724234dc7ced74"),
    ("KT128", b"\xff" * 7, ptn(41**3), 32,
     "75d2f86a2e644566726b4fbcfc5657b9dbcf070c7b0dca06450ab291d7443bcf"),
    ("KT128", ptn(8191), b"", 32,
     "1b577636f723643e990cc7d6a659837436fd6a103626600eb8301cd1dbe553d6"),
    ("KT128", ptn(8192), b"", 32,
     "48f256f6772f9edfb6a8b661ec92dc93b95ebd05a08a17b39ae3490870c926c3"),
    ("KT128", ptn(8192), ptn(8189), 32,
     "3ed12f70fb05ddb58689510ab3e4d23c6c6033849aa01e1d8c220a297fedcd0b"),
    ("KT128", ptn(8192), ptn(8190), 32,
     "6a7c1b6a5cd0d8c9ca943a4a216cc64604559a2ea45f78570a15253d67ba00ae"),
    ("KT256", b"", b"", 64,
     "b23d2e9cea9f4904e02bec06817fc10ce38ce8e93ef4c89e6537076af8646404e3e8b68107b8833a5d30490aa3348235"
     "3fd4adc7148ecb782855003aaebde4a9"),
    ("KT256", b"", b"", 128,
     "b23d2e9cea9f4904e02bec06817fc10ce38ce8e93ef4c89e6537076af8646404e3e8b68107b8833a5d30490aa3348235"
     "3fd4adc7148ecb782855003aaebde4a9b0925319d8ea1e121a609821ec19efea89e6d08daee1662b69c840289f188ba8"
     "60f55760b61f82114c030c97e5178449608ccd2cd2d919fc7829ff69931ac4d0"),
    ("KT256", b"", b"", 10064,
     "ad4a1d718cf950506709a4c33396139b4449041fc79a05d68da35f1e453522e056c64fe94958e7085f2964888259b993"
     "2752f3ccd855288efee5fcbb8b563069"),
    ("KT256", ptn(1), b"", 64,
     "0d005a194085360217128cf17f91e1f71314efa5564539d444912e3437efa17f82db6f6ffe76e781eaa068bce01f2bbf"
     "81eacb983d7230f2fb02834a21b1ddd0"),
    ("KT256", ptn(17), b"", 64,
     "1ba3c02b1fc514474f06c8979978a9056c8483f4a1b63d0dccefe3a28a2f323e1cdcca40ebf006ac76ef039715234683"
     "7b1277d3e7faa9c9653b19075098527b"),
    ("KT256", ptn(17**2), b"", 64,
     "de8ccbc63e0f133ebb4416814d4c66f691bbf8b6a61ec0a7700f836b086cb029d54f12ac7159472c72db118c35b4e6aa"
     "213c6562caaa9dcc518959e69b10f3ba"),
    ("KT256", ptn(17**3), b"", 64,
     "647efb49fe9d717500171b41e7f11bd491544443209997ce1c2530d15eb1ffbb598935ef954528ffc152b1e4d731ee26"
     "83680674365cd191d562bae753b84aa5"),
    ("KT256", ptn(17**4), b"", 64,
     "b06275d284cd1cf205bcbe57dccd3ec1ff6686e3ed15776383e1f2fa3c6ac8f08bf8a162829db1a44b2a43ff83dd89c3"
     "cf1ceb61ede659766d5ccf817a62ba8d"),
    ("KT256", ptn(17**5), b"", 64,
     "9473831d76a4c7bf77ace45b59f1458b1673d64bcd877a7c66b2664aa6dd149e60eab71b5c2bab858c074ded81ddce2b"
     "4022b5215935c0d4d19bf511aeeb0772"),
    ("KT256", ptn(17**6), b"", 64,
     "0652b740d78c5e1f7c8dcc1777097382768b7ff38f9a7a20f29f413bb1b3045b31a5578f568f911e09cf44746da84224"
     "a5266e96a4a535e871324e4f9c7004da"),
    ("KT256", b"", ptn(1), 64,
     "9280f5cc39b54a5a594ec63de0bb99371e4609d44bf845c2f5b8c316d72b159811f748f23e3fabbe5c3226ec96c62186"
     "df2d33e9df74c5069ceecbb4dd10eff6"),
    ("KT256", b"\xff" * 1, ptn(41), 64,
     "47ef96dd616f200937aa7847e34ec2feae8087e3761dc0f8c1a154f51dc9ccf845d7adbce57ff64b639722c6a1672e3b"
     "f5372d87e00aff89be97240756998853"),
    ("KT256", b"\xff" * 3, ptn(41**2), 64,
     "3b48667a5051c5966c53c5d42b95de451e05584e7806e2fb765eda959074172cb438a9e91dde337c98e9c41bed94c4e0"
     "aef431d0b64ef2324f7932caa6f54969"),
    ("KT256", b"\xff" * 7, ptn(41**3), 64,
     "e0911cc00025e1540831e266d94add9b98712142b80d2629e643aac4efaf5a3a30a88cbf4ac2a91a2432743054fbcc98"
     "97670e86ba8cec2fc2ace9c966369724"),
    ("KT256", ptn(8191), b"", 64,
     "3081434d93a4108d8d8a3305b89682cebedc7ca4ea8a3ce869fbb73cbe4a58eef6f24de38ffc170514c70e7ab2d01f03"
     "812616e863d769afb3753193ba045b20"),
    ("KT256", ptn(8192), b"", 64,
     "c6ee8e2ad3200c018ac87aaa031cdac22121b412d07dc6e0dccbb53423747e9a1c18834d99df596cf0cf4b8dfafb7bf0"
     "2d139d0c9035725adc1a01b7230a41fa"),
    ("KT256", ptn(8192), ptn(8189), 64,
     "74e47879f10a9c5d11bd2da7e194fe57e86378bf3c3f7448eff3c576a0f18c5caae0999979512090a7f348af4260d4de"
     "3c37f1ecaf8d2c2c96c1d16c64b12496"),
    ("KT256", ptn(8192), ptn(8190), 64,
     "f4b5908b929ffe01e0f79ec2f21243d41a396b2e7303a6af1d6399cd6c7a0a2dd7c4f607e8277f9c9b1cb4ab9ddc59d4"
     "b92d1fc7558441f1832c3279a4241b8b"),
]
