import { LAUNCHED_BY_TOKEN, type Session } from '#manager/contract'
import { t } from '../../words/en/detail.ts'

/** Parts of a session launched by an administrator that its owner takes over. */
export interface Kept {
  readonly keepCommand: boolean
  readonly keepFiles: boolean
}
export const NOTHING_KEPT: Kept = { keepCommand: false, keepFiles: false }

/** Sentences about who else launched the session. */
export const launcherOf = ({ launchedBy }: Session) =>
  launchedBy === LAUNCHED_BY_TOKEN
    ? { name: t('anAccessToken'), notice: t('tokenNotice'), chose: t('tokenChose') }
    : {
        name: launchedBy ?? '',
        notice: t('launchedByNotice', { who: launchedBy ?? '' }),
        chose: t('otherChose', { who: launchedBy ?? '' }),
      }

/** Whether somebody else, or an access token, chose what runs in the session; the owner is then asked what a restart keeps. */
export const isOfOther = ({ launchedBy }: Session): boolean => launchedBy !== null
