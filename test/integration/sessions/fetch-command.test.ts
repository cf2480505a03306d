import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fetchCommand, readCodeSource } from '#manager/contract'
import { createAuthority } from '../../fixtures/authority.ts'
import { execute } from '../../fixtures/berth.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

/**
 * The command line from the launch dialog, in a real shell with the real `curl`. `test/e2e/folders-journey.test.ts` clones a repository.
 */
test('a notebook is fetched whole or not at all, never over another file, and by https only', async () => {
  await using authority = await createAuthority()
  await using home = await temporaryDirectory()
  const answers: RequestListener = (request, response) => {
    if (request.url === '/moved.ipynb') response.writeHead(302, { location: 'http://127.0.0.1:9/x.ipynb' }).end()
    else if (request.url === '/my%20notes.ipynb') response.end('{"cells":[]}')
    else response.writeHead(404).end('no such page')
  }
  const server = createServer(authority.server, answers).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const run = async (name: string) => {
    const source = readCodeSource(`https://localhost:${(server.address() as AddressInfo).port}/${name}`)
    const command = source ? fetchCommand(source, home.path) : ''
    return execute(['sh', '-c', command], { PATH: process.env['PATH'], CURL_CA_BUNDLE: authority.file })
  }
  try {
    expect(await run('gone.ipynb')).toMatchObject({ code: 22 })
    const moved = await run('moved.ipynb')
    expect(moved.code).toBe(1)
    expect(moved.stderr).toMatch(/protocol .?http/i)
    expect(await readdir(home.path)).toEqual([])
    expect(await run('my%20notes.ipynb')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await run('my%20notes.ipynb')).toMatchObject({ code: 0 })
    expect(await readdir(home.path)).toEqual(['my notes.ipynb'])
    expect(await readFile(join(home.path, 'my notes.ipynb'), 'utf8')).toBe('{"cells":[]}')
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
