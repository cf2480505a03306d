import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  divideUse,
  judgeShare,
  noteUnclaimed,
  type OwnedProcess,
  shareLimit,
  type Standing,
  type Unclaimed,
} from './gpu-share-rules.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30
const SHARE = 20 * GiB
/** Memory that the driver counts for a process that has allocated nothing, on an H100. */
const CONTEXT = 518 * MiB

/** Looks each half second at a program whose memory in GiB is this list. @returns the verdicts */
function looks(...gib: number[]): string[] {
  let standing: Standing | undefined
  return gib.map(size => {
    const use = { bytes: size * GiB, processes: 1 }
    const judged = judgeShare(standing, use, { shareBytes: SHARE, elapsedMs: 500 })
    standing = judged.standing
    return judged.verdict
  })
}

test('a program that fills its share, with the memory of the driver for it, is within the limit', () => {
  const use = { bytes: SHARE + CONTEXT, processes: 1 }
  expect(judgeShare(undefined, use, { shareBytes: SHARE, elapsedMs: 500 }).verdict).toBe('within')
})

test('a session far above its share is warned by the first look and ended by the second', () => {
  expect(looks(24, 28)).toEqual(['over', 'end'])
  expect(looks(30, 30)).toEqual(['over', 'end'])
  expect(looks(30, 19, 30, 19)).toEqual(['over', 'within', 'over', 'within'])
})

test('a session that is a little above its share is ended after five seconds', () => {
  expect(looks(...Array<number>(10).fill(21))).toEqual([...Array<string>(9).fill('over'), 'end'])
})

test('a session that is a little above its share again and again is ended, although it goes below it in between', () => {
  const inTurn = (length: number) => Array.from({ length }, (_, at) => (at % 2 === 0 ? 21 : 19))
  expect(looks(...inTurn(20))).not.toContain('end')
  expect(looks(...inTurn(24))).toContain('end')
})

test('a look that was late is no long excess', () => {
  const far = { bytes: 21 * GiB, processes: 1 }
  expect(judgeShare({ looks: 1, overMs: 0 }, far, { shareBytes: SHARE, elapsedMs: 60_000 }).verdict).toBe('over')
})

test('idle processes add to the limit only up to a quarter of the share, or the memory of one process', () => {
  expect(shareLimit(SHARE, 1)).toBe(SHARE + 768 * MiB)
  expect(shareLimit(SHARE, 100)).toBe(SHARE * 1.25)
  expect(shareLimit(GiB, 100)).toBe(GiB + 768 * MiB)
  fc.assert(
    fc.property(fc.nat(100 * GiB), fc.nat(10_000), (share, processes) => {
      expect(shareLimit(share, processes)).toBeLessThanOrEqual(Math.max(share * 1.25, share + 768 * MiB))
    }),
  )
})

const mine = (memBytes: number | null, kernelId: string | undefined = 'a'): OwnedProcess => ({
  kernelId,
  memBytes,
  isOfOthers: false,
})
const host = (memBytes: number | null): OwnedProcess => ({ kernelId: undefined, memBytes, isOfOthers: true })
const ended = (memBytes: number | null): OwnedProcess => ({ kernelId: undefined, memBytes, isOfOthers: false })

type Look = readonly [usedBytes: number, ...processes: readonly OwnedProcess[]]
const five = (look: Look) => Array<Look>(5).fill(look)

/** Looks at a GPU several times. Each look is the memory in use, and the processes. */
function unclaimed(...seen: readonly Look[]) {
  return seen.reduce<Unclaimed | undefined>(
    (before, [used, ...processes]) => noteUnclaimed(before, used, processes),
    undefined,
  )
}

test('managed memory is that of the only session on the GPU, as seen on an H100', () => {
  const look = [26_129 * MiB, mine(CONTEXT)] as const
  const seen = unclaimed([0], ...five(look))
  const { byKernel, attributed } = divideUse([mine(CONTEXT)], seen)
  expect(attributed).toBe((26_129 - 518) * MiB)
  expect(byKernel.get('a')).toEqual({ bytes: 26_129 * MiB, processes: 1 })
})

test('what the driver had before any session came is nobody’s', () => {
  const rest = 3 * GiB
  const look = [rest + CONTEXT, mine(CONTEXT)] as const
  expect(divideUse([mine(CONTEXT)], unclaimed([rest], ...five(look))).attributed).toBe(0)
})

test('memory that grows between the two answers of a look belongs to its process, and is not counted twice', () => {
  const race = [10 * GiB, mine(CONTEXT)] as const
  const later = [10 * GiB, mine(10 * GiB)] as const
  expect(divideUse([mine(10 * GiB)], unclaimed([0], race, race, later, race, race)).attributed).toBe(0)
})

test('what a session that has ended leaves for a moment is not that of the next one', () => {
  const both = [10 * GiB, mine(CONTEXT), mine(CONTEXT, 'b')] as const
  const one = [10 * GiB, mine(CONTEXT)] as const
  const short = unclaimed([0], ...five(both), one, one, one, one)
  expect(divideUse([mine(CONTEXT)], short).attributed).toBe(0)
})

test('with several sessions on the GPU, memory that belongs to no process is told, and nobody’s', () => {
  const both = [mine(CONTEXT), mine(CONTEXT, 'b')]
  const look = [30 * GiB, ...both] as const
  const use = divideUse(both, unclaimed([0], ...five(look)))
  expect([use.attributed, use.unattributed]).toEqual([0, 30 * GiB - 2 * CONTEXT])
  expect(use.byKernel.get('b')).toEqual({ bytes: CONTEXT, processes: 1 })
})

test.each([
  ['of the host or of another container', host(CONTEXT)],
  ['that draws', host(null)],
  ['that has just ended, and drew', ended(null)],
])('a program %s may have the memory that belongs to no process', (_, other) => {
  const all = [mine(CONTEXT), other]
  const look = [30 * GiB, ...all] as const
  const use = divideUse(all, unclaimed([0], ...five(look)))
  expect([use.attributed, use.unattributed]).toEqual([0, 0])
})

test('a session hides managed memory behind no process of its own that has just ended', () => {
  const all = [mine(CONTEXT), ended(CONTEXT)]
  const look = [30 * GiB, ...all] as const
  expect(divideUse(all, unclaimed([0], ...five(look))).attributed).toBe(30 * GiB - 2 * CONTEXT)
})

test('processes are summed by session, and a session that draws is counted by what no process has', () => {
  const all = [mine(GiB), mine(2 * GiB), mine(3 * GiB, 'b'), host(GiB)]
  expect([...divideUse(all, undefined).byKernel]).toEqual([
    ['a', { bytes: 3 * GiB, processes: 2 }],
    ['b', { bytes: 3 * GiB, processes: 1 }],
  ])
  const look = [9 * GiB, mine(null)] as const
  expect(divideUse([mine(null)], unclaimed([0], ...five(look))).byKernel.get('a')?.bytes).toBe(9 * GiB)
})
