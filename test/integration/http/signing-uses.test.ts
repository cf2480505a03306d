import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signRequest } from '#manager/contract'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const run = promisify(execFile)
let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

describe('what a keypair was used for', () => {
  test('an event stream ends with its keypair', async () => {
    const who = await cluster.api.createKeypair({ body: {} })
    const url = `${cluster.url}/api/v1/events`
    const stream = await fetch(url, { headers: await signRequest({ method: 'GET', url }, who) })
    expect(stream.status).toBe(200)
    const ended = stream.text()
    await cluster.api.updateKeypair({ params: who, body: { active: false } })
    expect(await ended).toContain('event: ping')
  })

  test('a session notes its keypair, grants end with it, and it cannot be deleted while a session refers to it', async () => {
    await cluster.join()
    const who = await cluster.api.createKeypair({ body: {} })
    const api = signedApi(cluster.url, who)
    const { id } = await cluster.launch({}, api)
    await cluster.reach(id, 'RUNNING')
    const grant = await api.createGrant({ params: { id, app: 'jupyter' } })
    const renew = () => cluster.api.renewGrant({ headers: { 'x-berth-grant': grant.grant } })
    expect((await renew()).sessionId).toBe(id)
    const { accessKey } = who
    await expect(cluster.api.deleteKeypair({ params: { accessKey } })).rejects.toMatchObject({ code: 'keypair_in_use' })
    await cluster.api.updateKeypair({ params: { accessKey }, body: { active: false } })
    await expect(renew()).rejects.toMatchObject({ code: 'grant_invalid' })
    await expect(api.me()).rejects.toMatchObject({ code: 'keypair_inactive' })
    // The session continues: only the keypair has ended.
    expect((await cluster.api.getSession({ params: { id } })).status).toBe('RUNNING')
  })
})

describe.each(['password', 'signature', 'keypair'] as const)('a caller who came by %s', way => {
  /** A caller who uses this way, and the end of the credential. */
  const come = async (email: string) => {
    const byPassword = await cluster.addUser(email)
    if (way === 'password') return { api: byPassword, end: () => byPassword.logout() }
    const pair = await byPassword.createKeypair({ body: {} })
    const end = () => byPassword.updateKeypair({ params: pair, body: { active: false } })
    if (way === 'signature') return { api: signedApi(cluster.url, pair), end }
    const { token } = await byPassword.loginWithKeypair({
      body: { accessKey: pair.accessKey, secretKey: pair.secretKey, kind: 'token' },
    })
    return { api: apiOf(cluster.url, token ?? ''), end }
  }

  test('may do everything that stores the credential, and what was opened ends with it', async () => {
    await cluster.join()
    const { api, end } = await come(`${randomUUID()}@example.org`)
    const { id: folderId } = await api.createFolder({ body: { name: 'data' } })
    const { url } = await api.createDownload({ params: { id: folderId }, body: { paths: [''] } })
    const { id } = await cluster.launch({}, api)
    await cluster.reach(id, 'RUNNING')
    const { grant } = await api.createGrant({ params: { id, app: 'jupyter' } })
    const download = async () => (await fetch(cluster.url + url)).status
    const renew = () => cluster.api.renewGrant({ headers: { 'x-berth-grant': grant } })
    expect(await download()).toBe(200)
    expect((await renew()).sessionId).toBe(id)
    await end()
    expect(await download()).toBe(403)
    await expect(renew()).rejects.toMatchObject({ code: 'grant_invalid' })
  })
})

describe('the examples in the documentation', () => {
  const example = async (language: string) => {
    const text = await readFile(new URL('../../../docs/api-signing.md', import.meta.url), 'utf8')
    const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(text)?.[1]
    if (found === undefined) throw new Error(`no ${language}`)
    return found
  }
  let env: NodeJS.ProcessEnv
  beforeAll(async () => {
    const { accessKey, secretKey } = await (await cluster.addUser('script@example.org')).createKeypair({ body: {} })
    // With a slash at the end, as when people copy addresses.
    env = {
      ...process.env,
      BERTH_ENDPOINT: `${cluster.url}/`,
      BERTH_ACCESS_KEY: accessKey,
      BERTH_SECRET_KEY: secretKey,
    }
  })

  test('the example in Python', async () => {
    const { stdout } = await run('python3', ['-c', await example('python')], { env })
    expect(stdout).toBe('script@example.org\nnightly\n')
  })

  test('the example for the shell', async () => {
    const { stdout } = await run('sh', ['-c', await example('sh')], { env })
    expect(JSON.parse(stdout)).toMatchObject({ name: 'nightly', spec: { image: 'berth/python:3.13' } })
  })
})
