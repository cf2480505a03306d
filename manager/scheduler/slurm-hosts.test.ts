import { expect, test } from 'vitest'
import { anAgent, aSession } from './plan/plan-fixtures.ts'
import { networkedAgents, tooFewHosts } from './slurm-hosts.ts'

const host = (n: number, clusterAddress?: string) => anAgent(n, { cpu: 4000 }, { clusterAddress })

test('Slurm is not asked for more hosts than have a network between them; an address that two hosts name counts for neither', () => {
  const hosts = networkedAgents([
    host(1, '10.1.1.1'),
    host(2, '10.1.1.2'),
    host(3),
    host(4, '10.1.1.4'),
    host(5, '10.1.1.4'),
  ])
  const why = (clusterSize: number, clusterMode: 'single-host' | 'multi-host') =>
    tooFewHosts(aSession(1, { cpu: 1000 }, { clusterSize, clusterMode }), hosts)
  expect(why(2, 'multi-host')).toBeUndefined()
  expect(why(3, 'single-host')).toBeUndefined()
  expect(why(3, 'multi-host')).toMatchObject({
    ...{ code: 'no_host_network', cause: 'slurm_hosts_apart', values: { needed: 3, count: 2 } },
  })
})
