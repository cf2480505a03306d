import { type Manager, type ManagerWarning } from '#manager/contract'
import { type Cluster } from '../cluster/cluster.ts'
import { judgeManagers } from '../cluster/judge-managers.ts'
import { listResourceGroups } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'
import { schedulerJob } from './tick.ts'

export interface ManagerList {
  list(): Promise<{ items: Manager[]; warnings: ManagerWarning[] }>
}

/** The managers on the database, with the resource groups that each schedules. */
export function createManagerList({ db, cluster }: { db: Db; cluster: Pick<Cluster, 'overview'> }): ManagerList {
  return {
    async list() {
      const groups = (await listResourceGroups(db)).map(({ name }) => name)
      const found = await cluster.overview(groups.map(schedulerJob))
      const items = found.map(({ jobs, startedAt, seenAt, ...manager }) => ({
        ...manager,
        startedAt: startedAt.toISOString(),
        seenAt: seenAt.toISOString(),
        schedules: groups.filter(group => jobs.includes(schedulerJob(group))),
      }))
      return { items, warnings: judgeManagers(items) }
    },
  }
}
