import { randomInt } from 'node:crypto'
import { AppError, because, SessionName } from '#manager/contract'

const MANNERS =
  'amber brave brisk calm clear deft eager fair fleet fond gentle glad keen kind lively lucid merry mild neat noble plucky quiet rapid steady sunny tidy vivid warm witty zesty'.split(
    ' ',
  )
const SHIPS =
  'barge brig canoe catboat clipper cog coracle cutter dhow dinghy dory ferry frigate galley gig junk kayak ketch launch lugger packet pinnace pram punt schooner skiff sloop trawler tug yawl'.split(
    ' ',
  )

/** Generates a name that can be read out loud, such as `brisk-cutter-4821`. */
export function generateName(): string {
  return `${pick(MANNERS)}-${pick(SHIPS)}-${randomInt(1000, 10_000)}`
}

/**
 * @returns the name itself for one session, `name-1` … `name-N` for more
 * @throws AppError `bad_request` if one of them is not a valid name
 */
export function sessionNames(name: string, count: number): string[] {
  const names = count === 1 ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index + 1}`)
  const wrong = names.find(candidate => !SessionName.safeParse(candidate).success)
  if (wrong === undefined) return names
  throw new AppError('bad_request', because('name_too_long', { name: wrong }))
}

function pick(words: readonly string[]): string {
  return words[randomInt(words.length)] ?? 'berth'
}
