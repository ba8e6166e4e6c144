// What gmsm writes and reads: `go run peer.go make|check FOLDER`, in a module that requires
// github.com/emmansun/gmsm. `make` writes the fixtures beside this file anew; `check` reads a folder
// of the same form that another implementation wrote.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"github.com/emmansun/gmsm/pkcs8"
	"github.com/emmansun/gmsm/sm2"
	"github.com/emmansun/gmsm/smx509"
)

const password = "Tr0ub4dor&3"

var lengths = []int{1, 31, 32, 33, 300}
var ids = map[string][]byte{"sig": nil, "id.sig": []byte("ALICE123@YAHOO.COM")}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func painted(length int) []byte {
	message := make([]byte, length)
	for i := range message {
		message[i] = byte(i % 251)
	}
	return message
}

func main() {
	file := func(name string, length int) string {
		if length > 0 {
			name = fmt.Sprintf("m%d.%s", length, name)
		}
		return filepath.Join(os.Args[2], name)
	}
	write := func(name string, length int, data []byte) {
		if err := os.WriteFile(file(name, length), data, 0o644); err != nil {
			panic(err)
		}
	}
	read := func(name string, length int) []byte { return must(os.ReadFile(file(name, length))) }
	block := func(name string) []byte {
		block, _ := pem.Decode(read(name, 0))
		return block.Bytes
	}
	text := func(name, label string, der []byte) {
		write(name, 0, pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
	}
	hashes := map[string]pkcs8.Hash{"sm3": pkcs8.SM3, "sha256": pkcs8.SHA256}
	ciphers := map[string]pkcs8.Cipher{"sm4": pkcs8.SM4CBC, "aes128": pkcs8.AES128CBC, "aes256": pkcs8.AES256CBC}

	if os.Args[1] == "make" {
		key := must(sm2.GenerateKey(rand.Reader))
		text("key.pem", "PRIVATE KEY", must(smx509.MarshalPKCS8PrivateKey(key)))
		text("key.sec1.pem", "EC PRIVATE KEY", must(smx509.MarshalSM2PrivateKey(key)))
		text("pub.pem", "PUBLIC KEY", must(smx509.MarshalPKIXPublicKey(&key.PublicKey)))
		for hash, prf := range hashes {
			for name, cipher := range ciphers {
				opts := &pkcs8.Opts{Cipher: cipher, KDFOpts: pkcs8.PBKDF2Opts{SaltSize: 16, IterationCount: 1000, HMACHash: prf}}
				sealed := must(pkcs8.MarshalPrivateKey(key, []byte(password), opts))
				text("key."+name+"."+hash+".pem", "ENCRYPTED PRIVATE KEY", sealed)
			}
		}
		for _, length := range lengths {
			message := painted(length)
			write("sm2cipher.der", length, must(sm2.EncryptASN1(rand.Reader, &key.PublicKey, message)))
			plain := func(order *sm2.EncrypterOpts) []byte {
				return must(sm2.Encrypt(rand.Reader, &key.PublicKey, message, order))
			}
			write("c1c3c2.bin", length, plain(sm2.NewPlainEncrypterOpts(sm2.MarshalUncompressed, sm2.C1C3C2)))
			write("c1c2c3.bin", length, plain(sm2.NewPlainEncrypterOpts(sm2.MarshalUncompressed, sm2.C1C2C3)))
			for name, id := range ids {
				write(name+".der", length, must(key.SignWithSM2(rand.Reader, id, message)))
			}
		}
		return
	}

	key := must(smx509.ParsePKCS8PrivateKey(block("key.pem"))).(*sm2.PrivateKey)
	checked := 1
	same := func(what string, equal bool) {
		if !equal {
			panic(what)
		}
		checked++
	}
	same("SEC 1", must(smx509.ParseSM2PrivateKey(block("key.sec1.pem"))).Equal(key))
	same("SPKI", key.PublicKey.Equal(must(smx509.ParsePKIXPublicKey(block("pub.pem")))))
	for hash := range hashes {
		for name := range ciphers {
			opened := must(pkcs8.ParsePKCS8PrivateKeySM2(block("key."+name+"."+hash+".pem"), []byte(password)))
			same(name, opened.Equal(key))
		}
	}
	for _, length := range lengths {
		message := painted(length)
		same("ASN.1", bytes.Equal(must(sm2.Decrypt(key, read("sm2cipher.der", length))), message))
		plain := func(name string, opts *sm2.DecrypterOpts) {
			same(name, bytes.Equal(must(key.Decrypt(rand.Reader, read(name, length), opts)), message))
		}
		plain("c1c3c2.bin", sm2.NewPlainDecrypterOpts(sm2.C1C3C2))
		plain("c1c2c3.bin", sm2.NewPlainDecrypterOpts(sm2.C1C2C3))
		for name, id := range ids {
			same(name, sm2.VerifyASN1WithSM2(&key.PublicKey, id, message, read(name+".der", length)))
		}
	}
	fmt.Printf("gmsm agrees with %d files\n", checked)
}
