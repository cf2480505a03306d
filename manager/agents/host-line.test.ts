import { execFile } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { makeCertificate } from '../../test/fixtures/smtp-server.ts'
import { hostLine, hostScript, refusalScript, requireSafeAddress } from './host-line.ts'

const run = promisify(execFile)
const TOKEN = 'A'.repeat(43)
const BODY = await readFile(join(import.meta.dirname, '../../build/host/add-host.sh'), 'utf8')
const invitation = {
  url: 'https://berth.example.org',
  token: TOKEN,
  join: 'berth-join:abc',
  fingerprint: 'ab'.repeat(32),
  replaces: false,
}
const program = { version: '1.2.3', sha256: 'cd'.repeat(32), architecture: 'arm64' }

test('the line is one line, pins the key that the agent pins, and gives the token to no program as an argument', () => {
  const line = hostLine(invitation)
  expect(line).not.toContain('\n')
  expect(line).toContain(`-k --pinnedpubkey 'sha256//${Buffer.from('ab'.repeat(32), 'hex').toString('base64')}'`)
  expect(line).toContain(`echo 'header="Authorization: Bearer ${TOKEN}"' | curl`)
  expect(line.split(TOKEN)).toHaveLength(2)
  // Authorities vouch for the certificate.
  expect(hostLine({ ...invitation, fingerprint: undefined })).not.toMatch(/ -k | --pinnedpubkey/)
})

test('an address without TLS is refused beyond this computer', () => {
  for (const url of [
    'https://berth.example.org',
    'http://127.0.0.1:8400',
    'http://localhost:8400',
    'http://[::1]:8400',
  ])
    expect(() => requireSafeAddress(url)).not.toThrow()
  for (const url of ['http://10.0.0.5:8400', 'http://berth.example.org', 'http://127.0.0.1.example.org'])
    expect(() => requireSafeAddress(url)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
})

test('the script is valid for the shell, with the values of the invitation in front', async () => {
  const script = hostScript({ ...invitation, join: `it's` }, program, BODY)
  await run('sh', ['-n', '-c', script])
  const values = script.slice(0, script.indexOf('#!/bin/sh'))
  const { stdout } = await run('sh', [
    '-c',
    `${values} echo "$url $token $join $replaces. $version $machine $sha256 $pin"`,
  ])
  const pin = `sha256//${Buffer.from('ab'.repeat(32), 'hex').toString('base64')}`
  expect(stdout).toBe(`https://berth.example.org ${TOKEN} it's . 1.2.3 aarch64 ${'cd'.repeat(32)} ${pin}\n`)
})

test('a refusal runs as a script that prints its reason', async () => {
  const refused = run('sh', ['-c', refusalScript(`Made by "$(id)" it's`)])
  await expect(refused).rejects.toMatchObject({ code: 1, stderr: `berth: Made by "$(id)" it's\n` })
})

test.skipIf(
  await run('curl', ['--version']).then(
    () => false,
    () => true,
  ),
)(
  'the line runs the script of the holder of the pinned key only, no other answer, and tells that it failed',
  async () => {
    const certificate = await makeCertificate()
    const seen: (string | undefined)[] = []
    let status = 200
    await using server = createServer(certificate, (request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(status).end(String.raw`printf '%s\n' "fetched $*"`)
    }).listen(0, '127.0.0.1')
    await new Promise(done => server.once('listening', done))
    const { port } = server.address() as AddressInfo
    const key = new X509Certificate(certificate.cert).publicKey.export({ type: 'spki', format: 'der' })
    const line = (fingerprint: string) =>
      // As whoever runs this test.
      hostLine({ url: `https://127.0.0.1:${port}`, token: TOKEN, fingerprint }).replace('command -v sudo', 'true')
    const shell = async (text: string) => (await run('sh', ['-c', `{ ${text}; } 2>&1`])).stdout
    const right = line(createHash('sha256').update(key).digest('hex'))
    expect(await shell(`${right} -s -- --foreground`)).toBe('fetched --foreground\n')
    const failed = await shell(line('00'.repeat(32))).catch((error: unknown) => error)
    expect(failed).toMatchObject({ stdout: expect.stringMatching(/pinned|public key/i) as string })
    expect(seen).toEqual([`Bearer ${TOKEN}`])
    status = 502
    await expect(shell(right)).rejects.toMatchObject({ stdout: expect.not.stringContaining('fetched') as string })
  },
)
