import { AppError, type AuditEntry, ERRORS, type ErrorCode } from '#manager/contract'
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

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The present name of the target, else its id: without its kind where the id is a name. The id of a sign-in says nothing to people. */
export function targetText({ target, targetName }: Pick<AuditEntry, 'target' | 'targetName'>): string {
  if (targetName !== null) return targetName
  if (target === null || target.startsWith('login:')) return '–'
  const id = target.slice(target.indexOf(':') + 1)
  return UUID.test(id) ? target : id
}

/** The account that somebody tried to use without being signed in. */
export const triedBy = ({ actor, address, target, targetName }: AuditEntry): string | null =>
  actor === null && address !== null && target?.startsWith('user:') === true ? targetName : null

/** The person; without a sign-in, the account that was tried; Berth, if there was no network request. */
export function actorText(entry: AuditEntry): string {
  if (entry.actor !== null) return entry.actor
  if (entry.address === null) return t('system')
  const tried = triedBy(entry)
  return tried === null ? t('notSignedIn') : t('triedAs', { address: tried })
}
