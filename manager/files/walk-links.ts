import { type Directory } from '../storage/beneath.ts'
import { type Target, targetOf } from './link-targets.ts'
import { joinPath, openPlace } from './places.ts'
import { type Found, passOver, walk } from './walk.ts'

export interface LinkWalk {
  readonly top: Directory
  readonly signal: AbortSignal
  /** Directories that are walked, as real paths. */
  readonly walked: string[]
  readonly onTooDeep: (path: string) => void
  /** Called for a link that is left out. @param target the directory that it leads to; undefined if it leads to nothing in the folder */
  readonly onLinkLeftOut: (path: string, target: Target | undefined) => void
}

/**
 * Everything below a directory, like `walk`, but following links: a linked file is found under the name of its link, and the files of a
 * linked directory below it. A link is left out if its directory, or one inside it, is walked anyway: so the result stays in proportion to
 * the files, and there are no cycles.
 *
 * @param directory real path, relative to the top
 */
export async function* walkLinks(
  rules: LinkWalk,
  directory: string,
  level = 1,
): AsyncGenerator<Found, void, undefined> {
  const { top, signal, onTooDeep } = rules
  rules.walked.push(directory)
  await using opened = await top.walk(directory)
  for await (const found of walk(opened, signal, onTooDeep, level)) {
    if (found.kind === 'link') yield* linked(rules, found, joinPath(directory, found.path))
    else yield found
  }
}

async function* linked(rules: LinkWalk, { path }: Found, inFolder: string): AsyncGenerator<Found, void, undefined> {
  const target = await targetOf(rules.top, inFolder)
  if (!target || (target.kind === 'directory' && isWalked(rules.walked, target.path))) {
    rules.onLinkLeftOut(path, target)
    return
  }
  // A session may have removed the target since.
  await using place = await openPlace(rules.top, target.path).catch(passOver)
  if (!place) return
  yield { directory: place.directory, name: place.name, kind: target.kind, path }
  if (target.kind !== 'directory') return
  const below = {
    ...rules,
    onTooDeep: (deep: string) => rules.onTooDeep(joinPath(path, deep)),
    onLinkLeftOut: (link: string, to: Target | undefined) => rules.onLinkLeftOut(joinPath(path, link), to),
  }
  for await (const found of walkLinks(below, target.path, path.split('/').length + 1))
    yield { ...found, path: joinPath(path, found.path) }
}

const isWalked = (walked: readonly string[], path: string): boolean =>
  walked.some(one => isIn(one, path) || isIn(path, one))

const isIn = (directory: string, path: string): boolean => directory === '' || `${path}/`.startsWith(`${directory}/`)
