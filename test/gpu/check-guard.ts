import { type Check, hasEnded, MiB } from './check.ts'
import { SHARE_A, SHARE_B } from './check-shares.ts'
import { saw, Skipped, until } from './table.ts'
import { type Work } from './work.ts'

/** Above the share and what a guard tolerates for a program, and not so far above it that a session is ended without a warning. */
const ABOVE_MIB = 1_200

/** A session that takes more than its share is warned and ended, where Berth guards shares; the session beside it goes on. */
export async function checkGuard(
  { table, berth, gpu }: Check,
  work: Work,
  isolation: string | undefined,
): Promise<void> {
  const share = Math.floor(gpu.totalMib * 0.25)
  await table.row('A uses more than its share', 'warned, then ended with the reason gpu_limit', 60, async signal => {
    if (isolation === undefined) throw new Skipped('no session with a share')
    if (isolation === 'accounted')
      throw new Skipped('this Berth has no guard, or it cannot see the processes (accounted)')
    if (isolation === 'enforced') throw new Skipped('the driver refuses it (enforced)')
    const program = work.start(berth, SHARE_A, { gibibytes: (share + ABOVE_MIB) / 1024, computes: false }, signal)
    await program.begun
    const begun = performance.now()
    const seen = await until(
      async () => {
        const session = await berth.session(signal, SHARE_A)
        const text = `${session.status} after ${((performance.now() - begun) / 1000).toFixed(1)} s: ${session.reason.code}, ${session.reason.message}`
        return saw(hasEnded(session) && session.reason.code === 'gpu_limit', text)
      },
      signal,
      30,
    )
    program.stop()
    const { stdout } = await berth.run(signal, 'session', 'events', SHARE_A, '--json')
    const isWarned = stdout.includes('gpu_warned')
    return saw(seen.ok && isWarned, `${isWarned ? 'warned' : 'not warned'}; ${seen.seen}`)
  })
  await table.row('B meanwhile', 'RUNNING, its share in use as before', 15, async signal => {
    const { status } = await berth.session(signal, SHARE_B)
    const device = (await berth.devices(signal)).find(({ uuid }) => uuid === gpu.uuid)
    return saw(
      status === 'RUNNING',
      `${status}; held ${device?.occupied}, ${((device?.memUsedBytes ?? 0) / MiB).toFixed(0)} MiB in use`,
    )
  })
}
