import { AppError, auditTarget, type AuditEntry, ERRORS, type ErrorCode, triedBy } from '#manager/contract'
import { errorText } from '../../../ui/error-text.ts'
import { language } from '../../../words/i18n.ts'
import actions, { t as actionWord } from '../../../words/en/admin-audit.ts'
import { t } from '../../../words/en/admin-system.ts'

type Action = keyof typeof actions
const isAction = (name: string): name is Action => Object.hasOwn(actions, name)
const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code)

/** The text of an action; its name if this page does not know it. */
export const actionText = (name: string): string => (isAction(name) ? actionWord(name) : name)

/** All actions with their texts, in alphabetical order. */
export const actionChoices = (): { value: string; title: string }[] =>
  Object.keys(actions)
    .map(value => ({ value, title: actionText(value) }))
    .toSorted((a, b) => a.title.localeCompare(b.title, language.value))

export const resultText = (result: string): string => {
  if (result === 'ok') return t('ok')
  return isCode(result) ? errorText(new AppError(result)).title : result
}

export const targetText = (entry: Pick<AuditEntry, 'target' | 'targetName'>): string => auditTarget(entry) ?? '–'

/** The person; without a sign-in, the account that was tried; Berth, if there was no network request. */
export function actorText(entry: AuditEntry): string {
  if (entry.actor !== null) return entry.actor
  if (entry.address === null) return t('system')
  const tried = triedBy(entry)
  return tried === null ? t('notSignedIn') : t('triedAs', { address: tried })
}
