import { InvalidArgumentError } from 'commander'
import { AUDIT_ACTIONS, auditTarget, type AuditEntry, ERRORS, isAuditAction, triedBy } from '#manager/contract'
import { table } from '../output.ts'

/** The audit log in the words of the page; `--json` has the names of routes and the codes of errors. */
export const auditTable = (items: readonly AuditEntry[]): string =>
  table(
    ['TIME', 'WHO', 'TOKEN', 'ACTION', 'TARGET', 'RESULT', 'FOR', 'DETAIL'],
    items.map(one => [
      one.at.slice(0, 19).replace('T', ' '),
      actorText(one),
      one.token ?? '',
      isAuditAction(one.action) ? AUDIT_ACTIONS[one.action] : one.action,
      auditTarget(one) ?? '–',
      resultText(one.result),
      one.actedAs ?? '',
      Object.keys(one.detail).length > 0 ? JSON.stringify(one.detail) : '',
    ]),
  )

/** The person; without a sign-in, the account that was tried; Berth, if there was no network request. */
function actorText(entry: AuditEntry): string {
  if (entry.actor !== null) return entry.actor
  if (entry.address === null) return 'Berth'
  const tried = triedBy(entry)
  return tried === null ? 'Not signed in' : `${tried} (not signed in)`
}

function resultText(result: string): string {
  if (result === 'ok') return 'Done'
  return Object.hasOwn(ERRORS, result) ? ERRORS[result as keyof typeof ERRORS].title : result
}

/**
 * The name of an action from its name or its words. A name that this program does not know passes: the manager may be newer.
 * @throws InvalidArgumentError for several words that are no action
 */
export function parseAction(text: string): string {
  const wanted = text.trim().toLowerCase()
  const named = Object.entries(AUDIT_ACTIONS).find(([, words]) => words.toLowerCase() === wanted)
  if (named) return named[0]
  if (/\s/.test(wanted))
    throw new InvalidArgumentError('No action has these words. `berth admin audit ls` prints the words of each action.')
  return text
}
