// What sm-crypto writes and reads: `node peer.js make|check FOLDER`, with sm-crypto installed.
// `make` writes the fixtures beside this file anew; `check` reads a folder of the same form that
// another implementation wrote.
'use strict'

const fs = require('fs')
const path = require('path')
const assert = require('assert')
const {sm2} = require('sm-crypto')

const LENGTHS = [1, 31, 32, 33, 300]
const IDS = [['sig', undefined], ['id.sig', 'ALICE123@YAHOO.COM']]
const FORMS = [['c1c3c2', 1], ['c1c2c3', 0]]
const painted = length => Array.from({length}, (_, i) => i % 251)
const bytes = hex => Buffer.from(hex, 'hex')

const [mode, folder] = process.argv.slice(2)
const file = name => path.join(folder, name)
const read = name => fs.readFileSync(file(name))

if (mode === 'make') {
  const {privateKey, publicKey} = sm2.generateKeyPairHex()
  fs.writeFileSync(file('key.hex'), privateKey)
  fs.writeFileSync(file('pub.hex'), publicKey)
  fs.writeFileSync(file('pub.compressed.hex'), sm2.compressPublicKeyHex(publicKey))
  for (const length of LENGTHS) {
    const message = painted(length)
    for (const [form, order] of FORMS) {
      fs.writeFileSync(file(`m${length}.${form}.bin`), bytes(sm2.doEncrypt(message, publicKey, order)))
    }
    for (const [name, userId] of IDS) {
      for (const der of [false, true]) {
        const signature = sm2.doSignature(message, privateKey, {der, hash: true, publicKey, userId})
        fs.writeFileSync(file(`m${length}.${name}.${der ? 'der' : 'bin'}`), bytes(signature))
      }
    }
  }
} else {
  const key = read('key.hex').toString().trim()
  const pub = read('pub.hex').toString().trim()
  assert.ok(sm2.verifyPublicKey(pub))
  let checked = 0
  for (const length of LENGTHS) {
    const message = painted(length)
    for (const [form, order] of FORMS) {
      const cipher = read(`m${length}.${form}.bin`).toString('hex')
      assert.deepStrictEqual(Array.from(sm2.doDecrypt(cipher, key, order, {output: 'array'})), message)
      checked++
    }
    for (const [name, userId] of IDS) {
      for (const der of [false, true]) {
        const signature = read(`m${length}.${name}.${der ? 'der' : 'bin'}`).toString('hex')
        assert.ok(sm2.doVerifySignature(message, signature, pub, {der, hash: true, userId}))
        checked++
      }
    }
  }
  console.log(`sm-crypto agrees with ${checked} files`)
}
