// What Bouncy Castle writes and reads: `java -cp bcprov.jar Peer.java make|check FOLDER`. `make` writes
// the fixtures beside this file anew; `check` reads a folder of the same form that another
// implementation wrote.

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Security;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Map;

import org.bouncycastle.crypto.engines.SM2Engine;
import org.bouncycastle.crypto.params.AsymmetricKeyParameter;
import org.bouncycastle.crypto.params.ParametersWithID;
import org.bouncycastle.crypto.params.ParametersWithRandom;
import org.bouncycastle.crypto.signers.SM2Signer;
import org.bouncycastle.jcajce.provider.asymmetric.util.ECUtil;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

public class Peer {
    static final int[] LENGTHS = {1, 31, 32, 33, 300};
    static final Map<String, String> IDS =
        Map.of("sig", "1234567812345678", "id.sig", "ALICE123@YAHOO.COM");
    static final Map<String, SM2Engine.Mode> FORMS =
        Map.of("c1c3c2", SM2Engine.Mode.C1C3C2, "c1c2c3", SM2Engine.Mode.C1C2C3);

    static byte[] painted(int length) {
        byte[] message = new byte[length];
        for (int i = 0; i < length; i++) {
            message[i] = (byte) (i % 251);
        }
        return message;
    }

    static byte[] run(SM2Engine.Mode mode, boolean encrypt, AsymmetricKeyParameter key, byte[] data)
            throws Exception {
        SM2Engine engine = new SM2Engine(mode);
        engine.init(encrypt, encrypt ? new ParametersWithRandom(key, new SecureRandom()) : key);
        return engine.processBlock(data, 0, data.length);
    }

    public static void main(String[] arguments) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        Path folder = Path.of(arguments[1]);
        if (arguments[0].equals("make")) {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC", "BC");
            generator.initialize(new ECGenParameterSpec("sm2p256v1"));
            var pair = generator.generateKeyPair();
            Files.write(folder.resolve("key.der"), pair.getPrivate().getEncoded());
            Files.write(folder.resolve("pub.der"), pair.getPublic().getEncoded());
        }
        KeyFactory factory = KeyFactory.getInstance("EC", "BC");
        PrivateKey secret = factory.generatePrivate(
            new PKCS8EncodedKeySpec(Files.readAllBytes(folder.resolve("key.der"))));
        PublicKey open = factory.generatePublic(
            new X509EncodedKeySpec(Files.readAllBytes(folder.resolve("pub.der"))));
        var d = ECUtil.generatePrivateKeyParameter(secret);
        var p = ECUtil.generatePublicKeyParameter(open);
        int checked = 2;
        for (int length : LENGTHS) {
            byte[] message = painted(length);
            for (var form : FORMS.entrySet()) {
                Path file = folder.resolve("m" + length + "." + form.getKey() + ".bin");
                if (arguments[0].equals("make")) {
                    Files.write(file, run(form.getValue(), true, p, message));
                }
                byte[] decrypted = run(form.getValue(), false, d, Files.readAllBytes(file));
                if (!Arrays.equals(decrypted, message)) {
                    throw new Exception(file.toString());
                }
                checked++;
            }
            for (var id : IDS.entrySet()) {
                Path file = folder.resolve("m" + length + "." + id.getKey() + ".der");
                byte[] user = id.getValue().getBytes("US-ASCII");
                SM2Signer signer = new SM2Signer();
                if (arguments[0].equals("make")) {
                    signer.init(true, new ParametersWithID(d, user));
                    signer.update(message, 0, length);
                    Files.write(file, signer.generateSignature());
                }
                signer.init(false, new ParametersWithID(p, user));
                signer.update(message, 0, length);
                if (!signer.verifySignature(Files.readAllBytes(file))) {
                    throw new Exception(file.toString());
                }
                checked++;
            }
        }
        System.out.println("Bouncy Castle agrees with " + checked + " files");
    }
}
