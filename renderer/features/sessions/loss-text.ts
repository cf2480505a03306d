import { type Session } from '#manager/contract'
import { t } from '../../words/en/terminate.ts'

/** Folders are undefined in a list that does not know them. */
export type Ending = Pick<Session, 'clusterSize'> & Partial<Pick<Session, 'folders'>>

/** Largest number of names in one sentence. */
const NAMED = 3

/**
 * Fate of programs and files of started sessions that end: files in mounted folders stay, and the rest of a home is kept for a while,
 * except for a session with several containers.
 */
export function lossText(started: readonly Ending[]): string {
  const count = started.length
  const isKnown = started.every(({ folders }) => folders !== undefined)
  const names = [...new Set(started.flatMap(({ folders = [] }) => folders.map(({ name }) => name)))]
  const isNamed = isKnown && names.length > 0 && names.length <= NAMED
  const mayStay = !isKnown || names.length > 0
  const kept = started.filter(({ clusterSize }) => clusterSize === 1).length
  if (kept === 0 && !mayStay) return [t('stop', { count }), t('allDeleted'), t('copyFirst')].join(' ')
  const stay = isNamed ? t('foldersStay', { names: names.join(', ') }) : mayStay ? t('mountedStay') : t('noneMounted')
  const rest =
    kept === 0
      ? t('restDeleted')
      : kept < count
        ? t('someHomesKept')
        : t(mayStay ? 'homesKept' : 'wholeHomesKept', { count })
  return [t('stop', { count }), stay, rest, t('copyFirst')].join(' ')
}
