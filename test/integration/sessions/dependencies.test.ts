import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let agent: ScriptedAgent
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

async function started(name: string): Promise<Session> {
  agent = await cluster.join()
  const { id } = await cluster.launch({ name })
  return cluster.reach(id, 'RUNNING')
}

function exit(session: Session, exitCode: number): void {
  const [kernel] = session.kernels
  if (!kernel) throw new Error('no kernel')
  const { id, containerId } = kernel
  const gone = { oomKilled: false, engineRestarted: false }
  agent.change(id, { state: 'exited', containerId: containerId ?? '', exitCode, ...gone })
}

describe('a session that depends on others', () => {
  test('the session waits, with the reason, until the others ended with exit code 0, and then starts', async () => {
    const prepare = await started('prepare')
    const { id, dependsOn } = await cluster.launch({ name: 'train', dependsOn: ['prepare'] })
    expect(dependsOn).toEqual([prepare.id])
    await expect.poll(() => cluster.reasonOf(id), { interval: 20 }).toBe('dependencies')
    const waiting = await cluster.api.getSession({ params: { id } })
    expect(waiting).toMatchObject({
      status: 'PENDING',
      queuePosition: 1,
      reason: { message: 'Starts once "prepare" has succeeded.' },
    })
    exit(prepare, 0)
    await cluster.reach(id, 'RUNNING')
    // A session that has already succeeded causes no wait, by name or by id.
    const after = await cluster.launch({ name: 'later', dependsOn: ['prepare', prepare.id] })
    expect(after.dependsOn).toEqual([prepare.id])
    await cluster.reach(after.id, 'RUNNING')
  })

  test('the session is cancelled with the reason when another one fails, and so is what depends on it', async () => {
    const prepare = await started('prepare')
    const train = await cluster.launch({ name: 'train', dependsOn: [prepare.id] })
    const report = await cluster.launch({ name: 'report', dependsOn: ['train'] })
    exit(prepare, 2)
    const cancelled = await cluster.reach(train.id, 'CANCELLED')
    expect(cancelled.reason).toMatchObject({
      code: 'dependency_failed',
      message: 'Will not start: depends on session "prepare", which ended with exit code 2.',
    })
    expect((await cluster.reach(report.id, 'CANCELLED')).reason.message).toContain('"train", which is CANCELLED')
  })

  test('the session is cancelled when somebody ends what it waits for, whatever its exit code', async () => {
    const prepare = await started('prepare')
    const train = await cluster.launch({ name: 'train', dependsOn: ['prepare'] })
    agent.script.destroy_kernel = () => ({ exitCode: 0, logTail: '' })
    await cluster.api.deleteSession({ params: { id: prepare.id } })
    const cancelled = await cluster.reach(train.id, 'CANCELLED')
    expect(cancelled.reason).toMatchObject({
      code: 'dependency_failed',
      message: 'Will not start: depends on session "prepare", which ended as user_terminated.',
    })
  })

  test('the session is cancelled when its owner cancels what it waits for', async () => {
    await started('prepare')
    const train = await cluster.launch({ name: 'train', dependsOn: ['prepare'] })
    const report = await cluster.launch({ name: 'report', dependsOn: ['train'] })
    await cluster.api.deleteSession({ params: { id: train.id } })
    await cluster.reach(report.id, 'CANCELLED')
  })

  test('what-if says that the session will wait, or can never start', async () => {
    const prepare = await started('prepare')
    const ask = () => cluster.api.whatIf({ body: { image: prepare.image, dependsOn: ['prepare'] } })
    expect(await ask()).toMatchObject({ startsNow: false, reason: { code: 'dependencies' }, smaller: [] })
    exit(prepare, 2)
    await cluster.reach(prepare.id, 'TERMINATED')
    expect(await ask()).toMatchObject({ startsNow: false, reason: { code: 'dependency_failed' } })
  })

  test('a dependency must name another session of the same owner', async () => {
    const { id } = await started('prepare')
    const mira = await cluster.addUser('mira@example.com')
    for (const reference of ['prepare', id, 'train']) {
      const refused = await refusal(cluster.launch({ name: 'train', dependsOn: [reference] }, mira))
      expect(refused).toMatchObject({ code: 'dependency_not_found', detail: { session: reference } })
    }
  })
})
