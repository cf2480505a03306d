import { type Command } from 'commander'
import { type Reservation, type Session } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { everyPage } from './every-page.ts'
import { startText } from './session-waiting.ts'
import { age, amounts } from './text.ts'

interface QueueFlags {
  resourceGroup?: string
  search?: string
  json?: boolean
}

/** Adds `berth admin queue`. */
export function addQueueCommand(program: Command): void {
  adminOf(program)
    .command('queue')
    .description('List the sessions that wait, in the order in which they are tried, and what is held for whom.')
    .option('--resource-group <name>', 'only those of this resource group')
    .option('--search <text>', 'part of the name, the image or the e-mail address of the owner')
    .option('--json', 'print JSON')
    .action(async ({ json = false, resourceGroup, search }: QueueFlags) => {
      const { api } = await connect()
      const items = await everyPage(page => api.listQueue({ query: { ...page, resourceGroup, search } }))
      const { items: reservations } = await api.listReservations({ query: { resourceGroup } })
      createOutput(json).data({ items, reservations }, () =>
        [...reservations.map(reservationText), queueTable(items)].join('\n'),
      )
    })
}

function reservationText({ session, agents, needed, held, expectedBy }: Reservation): string {
  const start = expectedBy === null ? 'at a time that is not known' : `at ${expectedBy} at the latest`
  const who = `${session.name} of ${session.ownerEmail}`
  return `Held on ${agents.map(({ name }) => name).join(', ')} for ${who}: needed ${amounts(needed)}; free so far ${amounts(held)}. The session starts ${start}.`
}

const queueTable = (items: readonly Session[]) =>
  table(
    ['POSITION', 'ID', 'NAME', 'OWNER', 'GROUP', 'PRIORITY', 'RESOURCES', 'WAITS', 'STARTS', 'REASON'],
    items.map(one => [
      one.queuePosition === null ? '-' : String(one.queuePosition),
      ...[one.id, one.name, one.ownerEmail, one.resourceGroup, String(one.priority), requestText(one)],
      ...[age(one.createdAt), startText(one), one.reason.message],
    ]),
  )

/** The resources of a session; of a cluster those of each container. */
export const requestText = ({ requested, clusterSize }: Session) =>
  clusterSize === 1 ? amounts(requested) : `${clusterSize} × (${amounts(requested)})`
