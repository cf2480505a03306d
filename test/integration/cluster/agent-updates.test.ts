import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { FAST, startManagers } from '../../fixtures/managers.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

const NEW = 'b'.repeat(64)
const MAKES = `import { mkdirSync, writeFileSync } from 'node:fs'
const folder = process.argv[2]
const sha256 = 'ab'.repeat(32)
mkdirSync(folder, { recursive: true })
writeFileSync(folder + '/' + sha256 + '.tar.gz', 'program')
console.log(JSON.stringify({ file: sha256 + '.tar.gz', sha256, bytes: 7, digest: '${NEW}', toolbox: 'x' }))`

test('of several managers one updates hosts, one after the other; another one goes on when it ends', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await temporaryDirectory())
  await writeFile(join(path, 'make.mjs'), MAKES)
  const managers = stack.use(await startManagers({ ...FAST, hostProgram: join(path, 'make.mjs'), updatesEveryMs: 50 }))
  const first = stack.use(await managers.start())
  const second = stack.use(await managers.start())
  const { api } = await managers.admin(second)
  const program = { kind: 'line', digest: 'a'.repeat(64), updates: true, busy: false } as const
  const engines = [scriptedEngine({ program }), scriptedEngine({ program })]
  for (const engine of engines) {
    const { join: text } = await first.createJoinToken()
    const agent = stack.use(await startMeshAgent({ home: join(path, text.slice(-8)), engine, join: text }))
    await expect.poll(() => agent.connectedTo.size).toBe(2)
  }
  const asked = () => engines.filter(engine => engine.requests('update_program').length > 0)
  await expect.poll(() => asked().length).toBe(1)
  // The manager that has begun it ends; which one it was does not matter.
  await first[Symbol.asyncDispose]()
  const [one] = asked()
  if (!one) throw new Error('no update')
  one.program = { ...program, digest: NEW }
  await expect.poll(() => asked().length).toBe(2)
  expect(engines.flatMap(engine => engine.requests('update_program'))).toHaveLength(2)
  const states = async () => (await api.listAgents()).items.map(({ update }) => update.state).toSorted()
  await expect.poll(states).toEqual(['current', 'updating'])
})
