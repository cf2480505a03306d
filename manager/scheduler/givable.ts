import { type AgentId } from '#manager/contract'
import { readHolders, readImageTransfers } from '../store/images/image-transfers.ts'
import { type Db } from '../store/schema.ts'

/** The images that an agent without them may take from another agent, which is connected and has them. */
export async function readGivable(
  db: Db,
  digests: readonly (string | null)[],
  presence: { isReady(id: AgentId): boolean },
): Promise<ReadonlySet<string>> {
  const wanted = digests.filter(digest => digest !== null)
  if (wanted.length === 0 || (await readImageTransfers(db)) === 'never') return new Set()
  const holders = await readHolders(db, wanted)
  return new Set([...holders].filter(([, ids]) => ids.some(id => presence.isReady(id))).map(([digest]) => digest))
}
