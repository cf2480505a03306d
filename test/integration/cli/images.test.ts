import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AgentCleanUp, type Registry, type Task } from '#manager/contract'
import { type Cli, createCli, outcomeOf } from '../../fixtures/cli.ts'
import { startRegistry, type TestRegistry } from '../../fixtures/registry.ts'
import { ScriptedError } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const BOB = { username: 'bob', password: 'pull-secret' }
const LABELS = { 'berth.image.title': 'R 4', 'berth.image.min.cpu': '1', 'berth.image.min.mem': '256m' }

let cluster: SessionsCluster
let cr: TestRegistry
let cli: Cli
beforeAll(async () => {
  cluster = await startSessionsCluster()
  cr = await startRegistry({ htpasswd: BOB })
  await cr.push('lab/r', ['4'], { labels: LABELS })
  cli = await createCli()
  await cli.signIn(cluster.url)
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cr[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

const berth: Cli['run'] = (args, input) => cli.run(args, input)

test('an admin adds a registry, rescans it and sets minimums; progress goes to standard error', async () => {
  const add = ['admin', 'registry', 'add', cr.name, '--url', cr.url, '--username', 'bob', '--password-stdin', '--json']
  const made = await berth(add, `${BOB.password}\n`)
  expect(JSON.parse(made.out) as Registry).toMatchObject({ name: cr.name, username: 'bob', hasPassword: true })
  expect(made.out + made.err).not.toContain(BOB.password)
  expect(await berth(add, BOB.password)).toMatchObject({ code: 1 })
  const scan = await berth(['admin', 'registry', 'rescan', '--json'])
  expect(scan).toMatchObject({ code: 0 })
  expect((JSON.parse(scan.out) as Task[])[0]).toMatchObject({ status: 'done', rescan: { images: 1 } })
  expect(scan.err).toContain(`${cr.name}: 1/1 repositories, 1/1 tags, 1 image (done)`)
  expect((await berth(['admin', 'registry', 'ls'])).out).toContain(cr.name)
  const tested = await berth(['admin', 'registry', 'test', cr.name])
  expect(tested.out).toBe(`${cr.name} answers with the stored user. It lists 1 repository at first; lab/r has 1 tag.\n`)

  const reference = `${cr.name}/lab/r:4`
  expect((await berth(['admin', 'image', 'ls'])).out).toMatch(new RegExp(`${reference} .* 0 .*1 CPU, 256 MiB RAM`))
  const lower = await berth(['admin', 'image', 'set-minimum', reference, '--cpu', '0.5'])
  expect(lower).toMatchObject({ code: 0 })
  expect(lower.err).toContain('Warning: ')
  expect((await berth(['admin', 'image', 'set-minimum', reference, '--reset'])).err).toBe('')
  const named = await berth(['admin', 'image', 'alias', 'add', 'short', reference])
  expect(named.out).toBe(`short stands for ${reference}.\n`)
  expect((await berth(['admin', 'image', 'alias', 'ls'])).out).toMatch(new RegExp(`^short +${reference}$`, 'm'))
  expect((await berth(['image', 'ls'])).out).toMatch(new RegExp(`^${reference} +short `, 'm'))
  expect(await berth(['admin', 'image', 'alias', 'rm', 'short'])).toMatchObject({ code: 0 })
  expect(await berth(['admin', 'image', 'alias', 'rm', 'short'])).toMatchObject({ code: 4 })
  const setDomains = (...words: string[]) => berth(['admin', 'image', 'set-domains', reference, ...words])
  expect((await setDomains('default')).out).toBe(`${reference} is for default.\n`)
  expect((await setDomains('--none')).out).toBe(`${reference} is for no domain.\n`)
  expect((await setDomains('--all')).out).toBe(`${reference} is for all domains.\n`)
  expect(await setDomains('default', '--all')).toMatchObject({ code: 2 })
  expect(await berth(['admin', 'image', 'set-minimum', 'no/such:1', '--cpu', '1'])).toMatchObject({ code: 4 })
})

test('Ctrl-C cancels the rescan at the manager', async () => {
  cr.pause()
  const child = cli.start(['admin', 'registry', 'rescan', cr.name, '--json'])
  child.stderr.once('data', () => child.kill('SIGINT'))
  const { code, out, err } = await outcomeOf(child)
  cr.resume()
  expect(code).toBe(130)
  expect((JSON.parse(out) as Task[])[0]?.status).toBe('cancelled')
  expect(err).toContain('The task was cancelled.')
})

test('an admin pulls images to agents and cleans up', async () => {
  const reference = `${cr.name}/lab/r:4`
  const good = await cluster.join()
  const bad = await cluster.join({
    script: {
      pull_image: () => {
        throw new ScriptedError('image_not_found', 'no space left on device')
      },
    },
  })
  expect(await berth(['admin', 'image', 'pull', reference, '--agent', good.id])).toMatchObject({ code: 0 })
  const pull = await berth(['admin', 'image', 'pull', reference])
  expect(pull.code).toBe(1)
  expect(pull.out).toMatch(new RegExp(`${bad.name} +failed +no space left on device`))
  const dry = await berth(['admin', 'image', 'clean-up', '--dry-run', '--json'])
  expect((JSON.parse(dry.out) as AgentCleanUp[]).map(item => item.agentId)).toEqual([good.id, bad.id])
  expect(dry.err).toContain('At least 0 B would be freed.')
  expect(await berth(['admin', 'image', 'rm', reference, '--agent', good.id])).toMatchObject({ code: 1 })
  expect(await berth(['admin', 'registry', 'rm', cr.name])).toMatchObject({ code: 0 })
  expect(await berth(['admin', 'registry', 'rm', cr.name])).toMatchObject({ code: 4 })
})

test('a clean-up removes what it listed, or what an earlier one listed, and nothing else', async () => {
  const aged = (name: string) => ({
    id: `sha256:${name}`,
    references: [`lab/${name}:1`],
    repoDigests: [],
    sizeBytes: 2,
    uniqueBytes: 1,
    labelled: true,
  })
  const images = [aged('shown')]
  const agent = await cluster.join({
    script: {
      list_unused_images: () => ({ images }),
      remove_images: input => ({
        removed: input.images.map(({ id }) => ({ id, references: [] })),
        kept: [],
        freedBytes: input.images.length,
      }),
    },
  })
  const cleanUp = (...more: string[]) =>
    berth(['admin', 'image', 'clean-up', '--include-local', '--agent', agent.id, ...more])
  const listed = await cleanUp('--dry-run', '--json')
  images.push(aged('appeared'))
  const input = ['admin', 'image', 'clean-up', '--include-local', '--listed', '-']
  expect(await berth(input, listed.out)).toMatchObject({ code: 0, err: expect.stringContaining('Freed 1 B') as string })
  expect(agent.requests('remove_images')).toEqual([{ images: [{ id: 'sha256:shown', listed: ['lab/shown:1'] }] }])
  expect(await berth(input, '{}')).toMatchObject({ code: 2 })
  expect(await cleanUp()).toMatchObject({ code: 0, out: expect.stringContaining('lab/appeared:1') as string })
  expect(agent.requests('remove_images')).toHaveLength(2)
})
