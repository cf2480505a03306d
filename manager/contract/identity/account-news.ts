import { z } from 'zod'

/**
 * Kinds of news for a person about their own account: actions of somebody else; new ways to sign in, even of the person's own making
 * (`own_…`), because somebody may have used a browser that was left open; and things made while somebody else may have known the password
 * (`left_…`).
 */
export const ACCOUNT_NEWS_KINDS = [
  'own_keypair_made',
  'own_keypair_activated',
  'own_token_made',
  'own_identity_linked',
  'own_link_used',
  'own_mapping_ended',
  'own_password_chosen',
  'own_password_ended',
  'own_script_by_keypair',
  'own_dotfiles_by_keypair',
  'own_ssh_key_by_keypair',
  'own_sessions_by_keypair',
  'own_made_since_keypair',
  'left_keypairs',
  'left_identities',
  'left_script',
  'left_dotfiles',
  'left_folders',
  'left_ssh_key',
  'left_second_factor',
  'left_sessions',
  'left_images',
  'left_templates',
  'left_shares',
  'left_links',
  'left_invitations',
  'left_account_links',
  'left_webhooks',
  'left_scim_tokens',
  'account_made',
  'account_made_password',
  'keypair_made',
  'keypair_changed',
  'keypair_deactivated',
  'keypair_deleted',
  'password_set',
  'password_link',
  'password_ended',
  'role_changed',
  'domain_changed',
  'second_factor_off',
  'account_deactivated',
  'account_activated',
  'account_changed',
  'sign_ins_ended',
  'identities_unlinked',
  'projects_changed',
  'session_launched',
] as const
export const AccountNewsKind = z.enum(ACCOUNT_NEWS_KINDS)
export type AccountNewsKind = z.infer<typeof AccountNewsKind>

/** Longest list of names in a message, in characters. */
const MOST_TEXT = 300

/**
 * Names for the detail of a message: as many whole names as fit, with the number of the others on a separate line. Names have no line
 * breaks.
 *
 * @param total number of all names, of which `names` may be the first
 */
export function inShort(names: readonly string[], total: number): string {
  const [first = '', ...others] = names
  let text = first.length > MOST_TEXT ? `${first.slice(0, MOST_TEXT - 1)}…` : first
  let said = Math.min(names.length, 1)
  for (const name of others) {
    if (text.length + name.length + 2 > MOST_TEXT) break
    text += `, ${name}`
    said++
  }
  return total > said ? `${text}\n+${total - said}` : text
}

/** The names in the detail of a message, and the number of those that it leaves out. */
export function readNames(detail: string): { readonly names: string; readonly more: number } {
  const [names = '', more = ''] = detail.split('\n+')
  return { names, more: Number(more) }
}
