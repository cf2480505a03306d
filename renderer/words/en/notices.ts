import { defineWords } from '../i18n.ts'

const en = {
  notices: 'Notifications',
  none: 'Nothing has happened yet',
  clear: 'Clear all',
  running: '{name} is running',
  failed: '{name} failed',
  ended: '{name} has ended',
  ending: '{name} ends soon',
  invitation: '{person} invites you to the folder {name}',
  shared: '{person} shares the session {name} with you',
  message: '{person}: {text}',
  backupFailed: 'A backup of Berth failed. See what is wrong in Maintenance.',
  certificate: 'A certificate of Berth has ended, ends soon or was not renewed. See what to do in About.',
  gpuFault: 'No session starts on a GPU of a host: {name}. See why in Agents.',
  hostFault: 'No session can start on the host {name}. See why in Agents.',
  hostUpdate: 'The update of the host {name} failed. See why in Agents.',
  webhookFailing: 'An event could not be sent to the webhook {name} for a day, and was given up. See why in Webhooks.',
  webhookOff: 'The webhook {name} was switched off: its receiver takes no events. See why in Webhooks.',
  webhookOwner: 'The webhook {name} was switched off, because its owner may not administer what it tells of any more.',
  hostWell: 'Sessions can start on the host {name} again.',
  told_own_keypair_made: 'The access key {name} was made in your account. Delete it if this was not you.',
  told_own_keypair_activated: 'The access key {name} of your account was activated. Delete it if this was not you.',
  told_own_token_made: 'The access token {name} was made in your account. End it if this was not you.',
  told_own_identity_linked:
    'An account at a sign-in provider was linked with yours: {name}. Unlink it if this was not you.',
  told_own_link_used:
    'A password was set with a link that an administrator had in hand. Choose another one that only you know. If the link was not used by you, somebody else has been in your account.',
  told_own_password_ended:
    'Somebody else may have known your password, so it ended when you signed in at a provider. Ask for a link to choose another one.',
  told_own_mapping_ended:
    'Taken back, because a sign-in provider had given it: {name}. Sign in there again, or ask an administrator.',
  told_own_password_chosen:
    'Another password was chosen, in place of one that somebody else may have known. If this was not you, somebody else has been in your account.',
  told_own_script_by_keypair:
    'Your start-up script was set with an access key: {name}. It runs in each new session. If it is not yours, delete both.',
  told_own_dotfiles_by_keypair:
    'Dotfiles were set with an access key: {name}. They are in each new session. If they are not yours, delete them and the key.',
  told_own_ssh_key_by_keypair:
    'Your SSH key was set with an access key: {name}. It opens your new sessions. If it is not yours, replace it and delete the access key.',
  told_own_sessions_by_keypair:
    'Launched with an access key that has ended: {name}. Those that run or wait go on. End those that are not yours, and do not start them again.',
  told_own_made_since_keypair:
    'An access key has ended. Made, saved or shared since it was activated, or in each new session: {name}. Look at what is not yours.',
  told_left_keypairs:
    'Made or activated while somebody else may have known your password, and inactive now: the access keys {name}. Activate your own again.',
  told_left_identities:
    'Accounts at sign-in providers that were linked while somebody else may have known your password are unlinked. Link your own again.',
  told_left_script: 'Your start-up script was changed while somebody else may have known your password. Look at it.',
  told_left_dotfiles:
    'Changed while somebody else may have known your password: the dotfiles {name}. Delete what is not yours.',
  told_left_folders:
    'Made while somebody else may have known your password, or in each new session: the folders {name}. Look at what is in them.',
  told_left_ssh_key:
    'Your SSH key was changed while somebody else may have known your password. Replace it if it is not yours.',
  told_left_second_factor:
    'Your second factor was switched on while somebody else may have known your password. If that was not you, ask a superadmin.',
  told_left_sessions:
    'Launched, or running, while somebody else may have known your password: the sessions {name}. End those that are not yours, and do not start them again.',
  told_left_images:
    'Saved of your sessions, or asked for, while somebody else may have known your password: the images {name}. Do not launch what is not yours.',
  told_left_templates:
    'Stored while somebody else may have known your password: {name}. Delete what is not yours before you launch with it.',
  told_left_shares:
    'Shared while somebody else may have known your password: {name}. Take back what you did not share.',
  told_left_links:
    'Links that were made while somebody else may have known your password: {name}. Withdraw those that are not yours.',
  told_left_invitations:
    'Made in your name while somebody else may have known your password: the invitations {name}. Revoke those that are not yours (Invitations), and deactivate accounts that came of them (Users).',
  told_left_account_links:
    'Links for passwords were in your hand while somebody else may have known your password, for the accounts {name}. End the sign-ins of each (Users): the links end with them.',
  told_left_webhooks:
    'Perhaps made or changed while somebody else may have known your password: the webhooks {name}. Look where each sends its events, and delete those that are not yours.',
  told_left_scim_tokens:
    'Made in your name while somebody else may have known your password: the SCIM tokens {name}. End those that are not yours (berth admin scim-token), and look in the audit log for what was done with them.',
  andMore: '{name} and {count} more',
  told_account_made: '{person} made your account.',
  told_account_made_password:
    '{person} made your account, and chose its first password. Choose one that nobody else knows.',
  told_keypair_made: '{person} made the access key {name} for you. It opens nothing until you accept it.',
  told_keypair_changed: '{person} changed the limits of your access key {name}.',
  told_keypair_deactivated: '{person} deactivated your access key {name}. Only you can activate it again.',
  told_keypair_deleted: '{person} deleted your access key {name}.',
  told_password_set: '{person} set another password for your account.',
  told_password_link: '{person} made a link with which a new password can be set for your account.',
  told_password_ended: 'Somebody else had chosen your password, so it ended when {person} changed your account.',
  told_role_changed: '{person} gave you another role.',
  told_domain_changed: '{person} moved your account to the domain {name}.',
  told_second_factor_off: '{person} switched off your second factor.',
  told_account_deactivated: '{person} deactivated your account.',
  told_account_activated: '{person} activated your account again.',
  told_account_changed: '{person} changed the name, the note or the limits of your account.',
  told_sign_ins_ended: '{person} ended your sign-ins.',
  told_identities_unlinked: '{person} unlinked your account from the sign-in providers.',
  told_projects_changed: '{person} changed which projects you are in.',
  told_session_launched: '{person} started a session for you. Its command was not chosen by you.',
  uploaded: '{count, plural, one {# file was uploaded} other {# files were uploaded}}',
  uploadFailed: '{count, plural, one {# file was not uploaded} other {# files were not uploaded}}',
  desktop: 'Desktop notifications',
  desktopHint:
    'Tells you when a session runs, ends or is about to be ended, and of invitations and finished uploads, also while another window is in front. On this computer only.',
  desktopOn: 'Show desktop notifications',
  desktopDenied: 'The browser blocks notifications of this page. Allow them in the settings of the browser.',
  desktopMissing: 'This browser has no desktop notifications.',
  tunnelsLost: '{count, plural, one {# tunnel has lost its connection} other {# tunnels have lost their connection}}',
  tunnelsBack: '{count, plural, one {# tunnel is connected again} other {# tunnels are connected again}}',
} as const

export default en
export const t = defineWords('notices', en)
