import { afterAll, beforeAll, expect, test } from 'vitest'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

const scrape = async () => (await rawRequest(`${cluster.manager.url}/metrics`)).text.split('\n')

test('metrics include queues, statuses and usage of agents', async () => {
  const agent = await cluster.join({ capacity: { cpu: 2000, mem: 4 * 2 ** 30 } })
  const running = await cluster.launch({ resources: { cpu: '1.5' } })
  await cluster.reach(running.id, 'RUNNING')
  const waiting = await cluster.launch({ resources: { cpu: '1' } })
  await expect.poll(() => cluster.reasonOf(waiting.id)).toBe('capacity')

  const of = (extra = '') => `{agent="${agent.name}",agent_id="${agent.id}",resource_group="default"${extra}}`
  const lines = await scrape()
  expect(lines).toEqual(
    expect.arrayContaining([
      'berth_sessions{resource_group="default",status="RUNNING"} 1',
      'berth_sessions{resource_group="default",status="PENDING"} 1',
      'berth_kernels{status="RUNNING"} 1',
      `berth_agent_connected${of()} 1`,
      `berth_agent_kernels${of()} 1`,
      `berth_agent_capacity${of(',slot="cpu"')} 2`,
      `berth_agent_occupied${of(',slot="cpu"')} 1.5`,
      'berth_session_transitions_total{from="PREPARING",to="RUNNING"} 1',
    ]),
  )
  const age = lines.find(line =>
    line.startsWith('berth_session_state_oldest_seconds{resource_group="default",status="PENDING"}'),
  )
  expect(Number(age?.split(' ')[1])).toBeGreaterThan(0)

  await cluster.api.deleteSession({ params: { id: running.id } })
  await cluster.reach(waiting.id, 'RUNNING')
  await expect.poll(scrape).toContain(`berth_agent_occupied${of(',slot="cpu"')} 1`)
})

test('agents of equal names are told apart', async () => {
  const twins = [await cluster.join({ name: 'twin' }), await cluster.join({ name: 'twin' })]
  const each = twins.map(({ id }) => `berth_agent_connected{agent="twin",agent_id="${id}",resource_group="default"} 1`)
  await expect.poll(scrape).toEqual(expect.arrayContaining(each))
})
