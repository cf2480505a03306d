import { readNames, type AccountNewsKind } from '#manager/contract'
import { type Mail } from './mailer.ts'
import { mail } from './texts.ts'

/** `{by}` is the address of the person who acted, `{detail}` a name: of an access key, a role, a domain or a project. */
const TEXTS: Readonly<Record<AccountNewsKind, string>> = {
  own_keypair_made:
    'The keypair {detail} was made in your account. Whoever has its secret key may do what you may do. If this was not you, delete it on your page Account and choose another password.',
  own_keypair_activated:
    'The keypair {detail} of your account was activated. If this was not you, delete it on your page Account and choose another password.',
  own_token_made:
    'The access token {detail} was made in your account. If this was not you, end it on your page Account and choose another password.',
  own_identity_linked:
    'An account at a sign-in provider was linked with yours, and signs in to it now: {detail}. If this was not you, unlink it on your page Account and choose another password.',
  own_link_used:
    'A password was set for your account with a link that an administrator had in hand. If this was not you, somebody else has been in your account. Choose another password on your page Account.',
  own_mapping_ended:
    'Your groups at a sign-in provider had given your account this, which was taken back: {detail}. It comes back when you sign in there again, as long as the provider is linked and your groups still give it. Otherwise ask an administrator.',
  own_password_chosen:
    'Another password was chosen for your account, in place of one that somebody else may have known. If this was not you, somebody else has been in your account: ask for a link, and choose another password.',
  own_password_ended:
    'Somebody else may have known your password, so it ended when you signed in at a sign-in provider: your account has none now. To sign in with one as well, ask for a link, and choose one that nobody else knows.',
  own_script_by_keypair:
    'Your start-up script was set with a keypair: {detail}. It runs in each new session, also when the keypair has ended. If it is not yours, delete both: the script in your preferences, the keypair on your page Account.',
  own_dotfiles_by_keypair:
    'Dotfiles of yours were set with a keypair: {detail}. They are in each new session, also when the keypair has ended. If they are not yours, delete them in your preferences, and the keypair on your page Account.',
  own_ssh_key_by_keypair:
    'Your SSH key was set with a keypair: {detail}. It opens your new sessions, also when the keypair has ended. If it is not yours, replace it and delete the keypair, both on your page Account.',
  own_sessions_by_keypair:
    'These sessions were launched with a keypair of yours that has ended: {detail}. Those that run or wait go on, with your folders and dotfiles. End those that are not yours, and do not start them again: they would run the command and have the home that were left in them.',
  own_made_since_keypair:
    'A keypair of yours has ended. These folders, images, templates, shares and links were made since it was activated, perhaps with it, or are in each new session: {detail}. They stay: look at what is not yours.',
  left_keypairs:
    'These keypairs were made or activated while somebody else may have known your password, and are inactive now: {detail}. Activate your own again on your page Account, and delete the others.',
  left_identities:
    'Accounts at sign-in providers that were linked while somebody else may have known your password are unlinked. Link your own again on your page Account.',
  left_script:
    'Your start-up script was changed while somebody else may have known your password. It runs in each new session: look at it on your page Account.',
  left_dotfiles:
    'These dotfiles were changed while somebody else may have known your password: {detail}. They are in each new session: look at them on your page Account, and delete what is not yours.',
  left_scim_tokens:
    'These SCIM tokens, with which an identity provider changes accounts and projects, were made in your name while somebody else may have known your password: {detail}. End those that are not yours with "berth admin scim-token rm", and look in the audit log for what was done with them.',
  left_folders:
    'These folders were made while somebody else may have known your password, or are in each new session: {detail}. Look at what is in them.',
  left_ssh_key:
    'Your SSH key was changed while somebody else may have known your password. It opens your new sessions: replace it on your page Account if it is not yours.',
  left_second_factor:
    'Your second factor was switched on while somebody else may have known your password. If that was not you, ask a superadmin to switch it off.',
  left_sessions:
    'These sessions were launched or ran while somebody else may have known your password: {detail}. End those that are not yours, and do not start them again: they would run the command and have the home that was left in them.',
  left_images:
    'These images were saved of your sessions, or asked for, while somebody else may have known your password: {detail}. Do not launch what is not yours, and ask a superadmin to delete it.',
  left_templates:
    'These templates and settings of images were stored while somebody else may have known your password: {detail}. Delete what is not yours before you launch with it.',
  left_shares:
    'This was shared while somebody else may have known your password: {detail}. Take back what you did not share.',
  left_links:
    'Links to these apps were made while somebody else may have known your password: {detail}. Withdraw those that are not yours.',
  left_invitations:
    'These invitations were made in your name while somebody else may have known your password: {detail}. Revoke those that are not yours on the page Invitations, and deactivate accounts that came of them on the page Users. The audit log has what else was done as an administrator.',
  left_account_links:
    'Links for the passwords of these accounts were in your hand while somebody else may have known your password: {detail}. End the sign-ins of each on the page Users: the links end with them.',
  left_webhooks:
    'These webhooks are yours, and may have been made or changed while somebody else may have known your password: {detail}. Look where each sends its events on the page Webhooks, and delete what is not yours.',
  account_made: '{by} made an account for you. Nobody knows a password of it: a link sets the first one.',
  account_made_password:
    '{by} made an account for you, and chose its first password. Choose one that nobody else knows: on your page Account, or with "Forgot password?" where you sign in.',
  keypair_made:
    '{by} made the keypair {detail} for you. It opens nothing until you accept it on your page Account, and only you get its secret key.',
  keypair_changed: '{by} changed the limits of your keypair {detail}.',
  keypair_deactivated: '{by} deactivated your keypair {detail}. Only you can activate it again.',
  keypair_deleted: '{by} deleted your keypair {detail}.',
  password_set:
    '{by} set another password for your account, and your sign-ins ended. Sign in with it and choose one that nobody else knows.',
  password_link: '{by} made a link with which a new password can be set for your account.',
  password_ended: 'Somebody else had chosen your password, so it ended with what {by} changed. A link sets a new one.',
  role_changed:
    '{by} gave you another role: {detail}. Your sign-ins ended, and your keypairs may have to be activated again.',
  domain_changed:
    '{by} moved your account to the domain {detail}. Your sign-ins ended, and your keypairs have to be activated again.',
  second_factor_off: '{by} switched off the second factor of your account.',
  account_deactivated: '{by} deactivated your account.',
  account_activated: '{by} activated your account again.',
  account_changed: '{by} changed the name, the note or the limits of your account.',
  sign_ins_ended: '{by} ended your sign-ins.',
  identities_unlinked: '{by} unlinked your account from the sign-in providers.',
  projects_changed: '{by} changed which projects you are in.',
  session_launched:
    '{by} started a session for you. Its command was not chosen by you, and sees what you open in the session later.',
}

/** Changes that neither give nor take away access appear in the console only: adding a class to a project sends no mails. */
const NOT_MAILED: ReadonlySet<AccountNewsKind> = new Set(['account_changed', 'keypair_changed', 'projects_changed'])

/** The English sentence; the page has its own translation for each kind. */
export function newsText(
  kind: AccountNewsKind,
  { by, detail }: { readonly by: string; readonly detail: string },
): string {
  const { names, more } = readNames(detail)
  const all = more > 0 ? `${names} and ${more} more` : names
  return TEXTS[kind].replaceAll('{by}', () => by).replaceAll('{detail}', () => all)
}

/**
 * The mail about the news; undefined for news that appears in the console only. Names in it were chosen by administrators.
 *
 * @param publicUrl address of the console
 */
export function newsMail(to: string, { kind, text, publicUrl }: NewsMail): Mail | undefined {
  if (NOT_MAILED.has(kind)) return undefined
  const isOfOthers = !kind.startsWith('own_') && !kind.startsWith('left_')
  return mail(to, isOfOthers ? 'Somebody changed your account' : 'Look at your account', [
    text,
    '',
    isOfOthers
      ? 'If you did not expect this, ask the person who did it, or a superadmin.'
      : 'If you are not sure, ask a superadmin.',
    ...(publicUrl === null ? [] : ['', `${publicUrl}/#/account`]),
  ])
}

interface NewsMail {
  readonly kind: AccountNewsKind
  readonly text: string
  readonly publicUrl: string | null
}
