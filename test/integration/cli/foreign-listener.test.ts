import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createMemoryCredentials } from '../../../electron/main/credentials/credential-store.ts'
import { openAccount } from '../../../electron/main/console/account.ts'
import { forwardApi } from '../../../electron/main/console/forward-api.ts'
import { startBerthUp } from '../../fixtures/berth-up.ts'
import { createCli, loginCommand } from '../../fixtures/cli.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { ADMIN, apiOf, startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { startSquatter } from '../../fixtures/squatter.ts'

const nothing = () => Promise.resolve()
const LISTENER = { code: 'unavailable', detail: { cause: 'listener_of_other_user' } }

/** A user as which a packaged Berth could run: its program forwards connections. @returns the address */
async function startPassingOn(to: string, { uid, port }: { uid: number; port: number }) {
  const code = `
    const { connect, createServer } = require('node:net')
    const server = createServer(from => {
      const to = connect(${new URL(to).port}, '127.0.0.1')
      from.pipe(to).pipe(from)
      for (const one of [from, to]) one.on('error', () => { from.destroy(); to.destroy() })
    })
    server.listen(${port}, '127.0.0.1', () => console.log('listens'))`
  const child = spawn(process.execPath, ['-e', code], { uid, gid: uid, cwd: '/', env: {} })
  await once(child.stdout, 'data')
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

// Only root can start programs of other users.
const asRoot = test.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')

asRoot('while Berth is stopped, the command line sends its sign-in to no program of another user', async () => {
  await using stack = new AsyncDisposableStack()
  const { url: DATABASE_URL } = stack.use(await startDatabase())
  const { path: data } = stack.use(await temporaryDirectory())
  const cli = stack.use(await createCli())
  const environment = { DATABASE_URL, BERTH_ADMIN_PASSWORD: ADMIN.password }
  const up = (port: string) => startBerthUp(cli, ['--data', data, '--port', port], environment)
  const berth = stack.use(await up('0'))
  await cli.signIn(berth.url)
  expect(await cli.run(['whoami'])).toMatchObject({ code: 0 })
  const { port } = new URL(berth.url)
  await berth.stop()
  {
    await using squatter = await startSquatter(Number(port))
    await expect.poll(() => squatter.hasPort).toBe(true)
    const refused = await cli.run(['whoami', '--json'])
    expect(refused.code).not.toBe(0)
    expect(JSON.parse(refused.err)).toMatchObject({ error: { ...LISTENER, detail: { values: { user: 'nobody' } } } })
    const session = '01900000-0000-7000-8000-000000000001'
    expect((await cli.run(['stdio', session])).err).toContain('A program of the user nobody listens at')
    expect(squatter.received).toEqual([])
  }
  const again = stack.use(await up(port))
  expect(await cli.run(['whoami'])).toMatchObject({ code: 0 })
  expect(again.url).toBe(berth.url)
})

asRoot(
  'a Berth that runs as a user of its own is known from the sign-in on, and no other user in its place',
  async () => {
    await using stack = new AsyncDisposableStack()
    const port = await freePort()
    const manager = stack.use(await startTestManager({ allowedHosts: [`127.0.0.1:${port}`] }))
    const cli = stack.use(await createCli())
    {
      await using service = await startPassingOn(manager.url, { uid: 997, port })
      await cli.run(loginCommand(service.url), ADMIN.password)
      expect(await cli.run(['whoami'])).toMatchObject({ code: 0 })
    }
    await using squatter = await startSquatter(port, '127.0.0.1', 54_321)
    await expect.poll(() => squatter.hasPort).toBe(true)
    expect((await cli.run(['whoami'])).err).toContain('A program of the user 54321 listens at')
    // Signing out still forgets the sign-in here.
    await cli.run(['logout'])
    expect((await cli.run(['whoami'])).err).toContain('Sign in first')
    expect(squatter.received).toEqual([])
  },
)

asRoot('the desktop app remembers the user too, sends others nothing, and can sign out and in there', async () => {
  await using stack = new AsyncDisposableStack()
  const [port, otherPort] = [await freePort(), await freePort()]
  const allowedHosts = [port, otherPort].map(one => `127.0.0.1:${one}`)
  const manager = stack.use(await startTestManager({ allowedHosts }))
  const service = stack.use(await startPassingOn(manager.url, { uid: 997, port }))
  const other = stack.use(await startPassingOn(manager.url, { uid: 54_321, port: otherPort }))
  const { token, user } = await apiOf(manager.url).login({ body: { ...ADMIN, kind: 'token' } })
  const credentials = createMemoryCredentials()
  const open = (endpoint: string) =>
    openAccount({
      endpoint,
      credentials,
      fetch,
      onUserChanged: nothing,
      onSignedInLate: () => undefined,
      onSignedInAgain: nothing,
    })
  await (await open(service.url)).signIn(token ?? '', user.id)
  const kept = await credentials.get(service.url)
  expect(kept).toBe(`${token ?? ''} 997`)
  const again = await open(service.url)
  expect(await again.headers()).toEqual({ authorization: `Bearer ${token ?? ''}` })

  // As if the other user had taken the port.
  await credentials.set(other.url, kept ?? '')
  const account = await open(other.url)
  expect(account.isSignedIn()).toBe(true)
  await expect(account.headers()).rejects.toMatchObject(LISTENER)
  const ask = (path: string, body?: object) => {
    const request = new Request(`berth://console/api/v1/${path}`, {
      method: body ? 'POST' : 'GET',
      ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
    })
    return forwardApi(request, {
      account,
      fetch,
      untilSleep: () => new AbortController().signal,
      reach: { failed: () => undefined, answered: () => undefined },
    })
  }
  await expect(ask('me')).rejects.toMatchObject(LISTENER)
  expect((await ask('auth/logout', {})).status).toBe(204)
  expect([account.isSignedIn(), await credentials.get(other.url)]).toEqual([false, null])
  expect((await ask('auth/login', ADMIN)).status).toBe(200)
  expect((await ask('me')).status).toBe(200)
})
