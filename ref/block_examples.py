"""The examples that the standards of AES, SM4 and their modes print, computed again and compared."""

import modes
from aes import AES
from sm4 import SM4

hex_ = bytes.fromhex

FIPS_197_KEY = hex_("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")

# FIPS 197: Appendix C's ciphertexts of 00112233...ff, and the last word of Appendix A's expansion of other keys.
FIPS_197 = {
    16: ("C.1", "69c4e0d86a7b0430d8cdb78070b4c55a", "A.1", "b6630ca6"),
    24: ("C.2", "dda97ca4864cdfe06eaf70a0ec0d7191", "A.2", "01002202"),
    32: ("C.3", "8ea2b7ca516745bfeafc49904b496089", "A.3", "706c631e"),
}

# SP 800-38A, Appendix F: keys, common plaintext, and ciphertexts.
KEYS = {
    16: hex_("2b7e151628aed2a6abf7158809cf4f3c"),
    24: hex_("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
    32: hex_("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
}
PLAINTEXT = hex_(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
IV = hex_("000102030405060708090a0b0c0d0e0f")
COUNTER = hex_("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
SP_800_38A = [
    ("F.1.1", "ecb", 16, "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
     "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4"),
    ("F.1.3", "ecb", 24, "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
     "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e"),
    ("F.1.5", "ecb", 32, "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
     "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7"),
    ("F.2.1", "cbc", 16, "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
     "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"),
    ("F.2.3", "cbc", 24, "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
     "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd"),
    ("F.2.5", "cbc", 32, "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
     "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"),
    ("F.3.7", "cfb8", 16, "3b79424c9c0dd436bace9e0ed4586a4f32b9"),
    ("F.3.9", "cfb8", 24, "cda2521ef0a905ca44cd057cbf0d47a0678a"),
    ("F.3.11", "cfb8", 32, "dc1f1a8520a64db55fcc8ac554844e889700"),
    ("F.3.13", "cfb", 16, "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b"
     "26751f67a3cbb140b1808cf187a4f4dfc04b05357c5d1c0eeac4c66f9ff7f2e6"),
    ("F.3.15", "cfb", 24, "cdc80d6fddf18cab34c25909c99a417467ce7f7f81173621961a2b70171d3d7a"
     "2e1e8a1dd59b88b1c8e60fed1efac4c9c05f9f9ca9834fa042ae8fba584b09ff"),
    ("F.3.17", "cfb", 32, "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b"
     "df10132415e54b92a13ed0a8267ae2f975a385741ab9cef82031623d55b1e471"),
    ("F.4.1", "ofb", 16, "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825"
     "9740051e9c5fecf64344f7a82260edcc304c6528f659c77866a510d9c1d6ae5e"),
    ("F.4.3", "ofb", 24, "cdc80d6fddf18cab34c25909c99a4174fcc28b8d4c63837c09e81700c1100401"
     "8d9a9aeac0f6596f559c6d4daf59a5f26d9f200857ca6c3e9cac524bd9acc92a"),
    ("F.4.5", "ofb", 32, "dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d"
     "71ab47a086e86eedf39d1c5bba97c4080126141d67f37be8538f5a8be740e484"),
    ("F.5.1", "ctr128", 16, "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"),
    ("F.5.3", "ctr128", 24, "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
     "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"),
    ("F.5.5", "ctr128", 32, "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"),
]

ENCRYPT = {
    "ecb": lambda c, iv, p: modes.ecb_encrypt(c, p),
    "cbc": modes.cbc_encrypt,
    "cfb": modes.cfb_encrypt,
    "cfb8": lambda c, iv, p: modes.cfb_encrypt(c, iv, p, 1),
    "ofb": modes.ofb,
    "ctr32": lambda c, iv, p: modes.ctr(c, iv, p, 32),
    "ctr128": modes.ctr,
}

# McGrew and Viega, "The Galois/Counter Mode of Operation", Appendix B: key, IV, plaintext, associated data; tags.
GCM_P = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
GCM_K = "feffe9928665731c6d6a8f9467308308"
GCM_A = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
GCM_IVS = (
    "cafebabefacedbaddecaf888",
    "cafebabefacedbad",
    "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728"
    "c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
)
GCM_TAGS = {
    16: "58e2fccefa7e3061367f1d57a4e7455a ab6e47d42cec13bdf53a67b21257bddf 4d5c2af327cd64a62cf35abd2ba6fab4 "
    "5bc94fbc3221a5db94fae95ae7121a47 3612d2e79e3b0785561be14aaca2fccb 619cc5aefffe0bfa462af43c1699d050",
    24: "cd33b28ac773f74ba00ed1f312572435 2ff58d80033927ab8ef4d4587514f0fb 9924a7c8587336bfb118024db8674a14 "
    "2519498e80f1478f37ba55bd6d27618c 65dcc57fcf623a24094fcca40d3533f8 dcf566ff291c25bbb8568fc3d376a6d9",
    32: "530f8afbc74536b9a963b4f1c4cb738b d0d1c8a799996bf0265b98b5d48ab919 b094dac5d93471bdec1a502270e3cc6c "
    "76fc6ece0f4e1768cddf8853bb2d551b 3a337dbf46a792c45e454913fe2ea8f2 a44a8266ee1c8eb0c8b5d4cf5ae9f19a",
}

# SP 800-38C, Appendix C: lengths of N, A and P, and C with its tag.
SP_800_38C = [
    ("C.1", 7, 8, 4, 4, "7162015b4dac255d"),
    ("C.2", 8, 16, 16, 6, "d2a1f0e051ea5f62081a7792073d593d1fc64fbfaccd"),
    ("C.3", 12, 20, 24, 8, "e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5484392fbc1b09951"),
    ("C.4", 13, 65536, 32, 14, "69915dad1e84c6376a68c2967e4dab615ae0fd1faec44cc484828529463ccf72"
     "b4ac6bec93e8598e7f0dadbcea5b"),
]

# IEEE 1619-2007, Annex B: key (Key_1, Key_2), tweak, plaintext, ciphertext.
IEEE_1619_KEY = "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0"
IEEE_1619 = [
    ("1", "00" * 32, "00" * 16, "00" * 32, "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e"),
    ("2", "11" * 16 + "22" * 16, "3333333333" + "00" * 11, "44" * 32,
     "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"),
    ("3", IEEE_1619_KEY[:32] + "22" * 16, "3333333333" + "00" * 11, "44" * 32,
     "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89"),
] + [
    (str(15 + i), IEEE_1619_KEY, "9a78563412" + "00" * 11, bytes(range(17 + i)).hex(), C)
    for i, C in enumerate((
        "6c1625db4671522d3d7599601de7ca09ed", "d069444b7a7e0cab09e24447d24deb1fedbf",
        "e5df1351c0544ba1350b3363cd8ef4beedbf9d", "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac",
    ))
]

SM4_KEY = "0123456789abcdeffedcba9876543210"

# draft-ribose-cfrg-sm4-10, Appendix A.2; SM4_KEY2 has the halves of SM4_KEY swapped.
SM4_KEY2 = "fedcba98765432100123456789abcdef"
RIBOSE_P = "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeeeffffffffaaaaaaaabbbbbbbb"
RIBOSE_CTR_P = "".join(letter * 16 for letter in "abcdefab")
RIBOSE = [
    ("A.2.1.1", "ecb", SM4_KEY, RIBOSE_P, "5ec8143de509cff7b5179f8f474b86192f1d305a7fb17df985f81c8482192304"),
    ("A.2.1.2", "ecb", SM4_KEY2, RIBOSE_P, "c5876897e4a59bbba72a10c83872245b12dd90bc2d200692b529a4155ac9e600"),
    ("A.2.2.1", "cbc", SM4_KEY, RIBOSE_P, "78ebb11cc40b0a48312aaeb2040244cb4cb7016951909226979b0d15dc6a8f6d"),
    ("A.2.2.2", "cbc", SM4_KEY2, RIBOSE_P, "0d3a6ddc2d21c698857215587b7bb59a91f2c147911a4144665e1fa1d40bae38"),
    ("A.2.3.1", "ofb", SM4_KEY, RIBOSE_P, "ac3236cb861dd316e6413b4e3c7524b71d01aca2487ca582cbf5463e6698539b"),
    ("A.2.3.2", "ofb", SM4_KEY2, RIBOSE_P, "5dcccd25a84ba16560d7f2658870684933fa16bd5cd9c856cacaa1e101897a97"),
    ("A.2.4.1", "cfb", SM4_KEY, RIBOSE_P, "ac3236cb861dd316e6413b4e3c7524b769d4c54ed433b9a0346009beb37b2b3f"),
    ("A.2.4.2", "cfb", SM4_KEY2, RIBOSE_P, "5dcccd25a84ba16560d7f265887068490d9b86ff20c3bfe115ffa02ca6192cc5"),
    ("A.2.5.1", "ctr128", SM4_KEY, RIBOSE_CTR_P, "ac3236cb970cc20791364c395a1342d1a3cbc1878c6f30cd074cce385cdd70c7"
     "f234bc0e24c11980fd1286310ce37b926e02fcd0faa0baf38b2933851d824514"),
    ("A.2.5.2", "ctr128", SM4_KEY2, RIBOSE_CTR_P, "5dcccd25b95ab07417a08512ee160e2f8f661521cbbab44cc87138445bc29e5c"
     "0ae0297205d62704173b21239b887f6c8cb5b800917a2488284bde9e16ea2906"),
]

# RFC 8998, Appendix A.
RFC_8998 = [
    ("gcm", "A.1", "17f399f08c67d5ee19d0dc9969c4bb7d5fd46fd3756489069157b282bb200735"
     "d82710ca5c22f0ccfa7cbf93d496ac15a56834cbcf98c397b4024a2691233b8d", "83de3541e4c2b58177e065a9bf7b62ec"),
    ("ccm", "A.2", "48af93501fa62adbcd414cce6034d895dda1bf8f132f042098661572e7483094"
     "fd12e518ce062c98acee28d95df4416bed31a2f04476c18bb40c84a74b97dc5b", "16842d4fa186f56ab33256971fa110f4"),
]
RFC_8998_P = "".join(letter * 16 for letter in "abcdefea")

# GB/T 17964-2021's example of XTS and IEEE's tweaks for the same input, as OpenSSL's tests give them.
SM4_XTS = [
    ("xts-gb", "GB/T 17964-2021", "e9538251c71d7b80bbe4483fef497bd12c5c581bd6242fc51e08964fb4f60fdb"
     "0ba42f63499279213d318d2c11f6886e903be7f93a1b3479"),
    ("xts", "OpenSSL, evpciph_sm4.txt", "e9538251c71d7b80bbe4483fef497bd1b3db1a3e60408c575d63ff7db39f8326"
     "0869f9e2585fec9f0b863bf8fd784b8627d16c0db6d2cfc7"),
]


def block(source, key, plaintext, ciphertext, round_keys):
    entry = {"source": source, "key": key.hex(), "plaintext": plaintext.hex(), "ciphertext": ciphertext.hex()}
    return entry | {"round_keys": round_keys.hex()}


def mode(source, name, key, iv, plaintext, ciphertext, computed):
    assert computed.hex() == ciphertext, source
    entry = {"source": source, "mode": name, "key": key.hex(), "iv": iv.hex()}
    return entry | {"plaintext": plaintext.hex(), "ciphertext": ciphertext}


def aead(source, name, key, iv, aad, plaintext, computed, tag):
    assert computed[1].hex() == tag, source
    entry = {"source": source, "mode": name, "key": key.hex(), "iv": iv.hex(), "aad": aad.hex()}
    return entry | {"plaintext": plaintext.hex(), "ciphertext": computed[0].hex(), "tag": tag}


def of_aes():
    blocks = []
    for n, (clause, ciphertext, expansion, last) in FIPS_197.items():
        P = hex_("00112233445566778899aabbccddeeff")
        for source, key in ((clause, FIPS_197_KEY[:n]), (expansion, KEYS[n])):
            w = b"".join(AES(key).w)
            C = AES(key).encrypt(P)
            assert C.hex() == ciphertext or source == expansion and w[-4:].hex() == last, source
            blocks.append(block(f"FIPS 197, {source}", key, P, C, w))

    examples = []
    for clause, name, n, ciphertext in SP_800_38A:
        iv = COUNTER if name == "ctr128" else b"" if name == "ecb" else IV
        P = PLAINTEXT[: len(ciphertext) // 2]
        C = ENCRYPT[name](AES(KEYS[n]), iv, P)
        examples.append(mode(f"SP 800-38A, {clause}", name, KEYS[n], iv, P, ciphertext, C))
    for number, key, tweak, P, C in IEEE_1619:
        K, T, P = hex_(key), hex_(tweak), hex_(P)
        computed = modes.xts_encrypt(AES(K[:16]), AES(K[16:]), T, P)
        examples.append(mode(f"IEEE 1619, vector {number}", "xts", K, T, P, C, computed))

    aeads = []
    for n, tags in GCM_TAGS.items():
        for i, tag in enumerate(tags.split()):
            K = hex_((GCM_K + GCM_K)[: 2 * n]) if i >= 2 else bytes(n)
            IV_ = hex_(GCM_IVS[max(i - 3, 0)]) if i >= 2 else bytes(12)
            P = (b"", bytes(16), hex_(GCM_P), *[hex_(GCM_P)[:60]] * 3)[i]
            A = hex_(GCM_A) if i >= 3 else b""
            computed = modes.gcm_encrypt(AES(K), IV_, P, A)
            number = i + 1 + 6 * (n // 8 - 2)
            aeads.append(aead(f"GCM, test case {number}", "gcm", K, IV_, A, P, computed, tag))
    for clause, n, a, p, t, C in SP_800_38C:
        K, A = bytes(range(0x40, 0x50)), bytes(i % 256 for i in range(a))
        N, P = bytes(range(0x10, 0x10 + n)), bytes(range(0x20, 0x20 + p))
        computed = modes.ccm_encrypt(AES(K), N, P, A, t)
        assert b"".join(computed).hex() == C, clause
        if a < 65536:  # C.4's associated data would be half of this file; its length is in `painted_aead`
            aeads.append(aead(f"SP 800-38C, {clause}", "ccm", K, N, A, P, computed, C[-2 * t :]))
    return {"blocks": blocks, "iterated": [], "examples": examples, "aead_examples": aeads}


def of_sm4():
    K = hex_(SM4_KEY)
    rk = SM4(K).rk
    assert (rk[0], rk[31]) == (0xF12186F9, 0x9124A012)
    C = SM4(K).encrypt(K)
    assert C.hex() == "681edf34d206965e86b3e94f536e4246"
    round_keys = b"".join(word.to_bytes(4, "big") for word in rk)
    # A.2 as printed; a million blocks take the reference minutes.
    million = {"source": "GB/T 32907-2016, A.2", "key": SM4_KEY, "plaintext": SM4_KEY, "iterations": 1000000}
    million |= {"ciphertext": "595298c7c6fd271f0402f804c33d3f66"}

    examples = []
    for clause, name, key, plaintext, ciphertext in RIBOSE:
        iv, P = b"" if name == "ecb" else IV, hex_(plaintext)
        C_ = ENCRYPT[name](SM4(hex_(key)), iv, P)
        examples.append(mode(f"draft-ribose-cfrg-sm4-10, {clause}", name, hex_(key), iv, P, ciphertext, C_))
    K2 = KEYS[16] + IV
    for name, source, ciphertext in SM4_XTS:
        double = modes.double_gb if name == "xts-gb" else modes.double_ieee
        C_ = modes.xts_encrypt(SM4(K2[:16]), SM4(K2[16:]), COUNTER, PLAINTEXT[:56], double)
        examples.append(mode(source, name, K2, COUNTER, PLAINTEXT[:56], ciphertext, C_))

    aeads = []
    for name, clause, ciphertext, tag in RFC_8998:
        encrypt = modes.gcm_encrypt if name == "gcm" else modes.ccm_encrypt
        N, A, P = hex_("00001234567800000000abcd"), hex_(GCM_A), hex_(RFC_8998_P)
        computed = encrypt(SM4(K), N, P, A, 16)
        assert computed[0].hex() == ciphertext, clause
        aeads.append(aead(f"RFC 8998, {clause}", name, K, N, A, P, computed, tag))
    blocks = [block("GB/T 32907-2016, A.1", K, K, C, round_keys)]
    return {"blocks": blocks, "iterated": [million], "examples": examples, "aead_examples": aeads}


def examples(algorithm):
    return of_aes() if algorithm == "aes" else of_sm4()
