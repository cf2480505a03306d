/**
 * Causes of errors that are fixed sentences, by key. The English text is the error's `why`; a client in another language shows its
 * own sentence for the key, with the same values in the places of `{names}`. Keys stay when a sentence is reworded. Causes
 * whose text is made from parts (lists, fields of a form) have no key.
 */
export const CAUSES = {
  // signing in
  account_deactivated: 'An admin has deactivated the account.',
  account_or_domain_deactivated: 'An admin has deactivated the account or its domain.',
  agree_to_terms: 'Agree to the terms first.',
  ask_admin_for_account: 'Ask an admin for an account.',
  ask_admin_for_link: 'Ask an admin for a link.',
  ask_for_new_invitation: 'Ask for a new invitation.',
  ask_for_new_link: 'Ask for a new link. If you have used this link before, just sign in.',
  choose_other_password: 'Choose another one.',
  choose_other_password_or_sign_in: 'Choose another password, or sign in with this one.',
  code_from_app: 'Enter the code that your app shows now.',
  code_from_app_or_recovery: 'Enter the code that the app shows now, or a recovery code.',
  confirm_by_mail:
    'Open the link in the mail that you received. If no mail arrived, ask an admin to confirm the address.',
  domain_deactivated: 'An admin has deactivated domain "{domain}". Ask an admin of the domain.',
  domain_deactivated_sign_up: 'An admin has deactivated domain "{domain}". Ask an admin for access.',
  import_without_mail: 'Import without mail: the answer has the links for you to pass on.',
  invitation_needed: 'You need an invitation to sign up here. Ask an admin for one.',
  keypair_deactivated: 'Activate the keypair, or use another one.',
  keypair_used: 'Deactivate the keypair instead.',
  login_check_both: 'Check both and try again.',
  many_sign_ins: 'Many people are signing in right now. Try again in a few seconds.',
  not_yourself: 'You cannot deactivate yourself or change your own role or domain.',
  old_password_wrong: 'The old password is wrong.',
  password_of_sign_up: 'Enter the password that you chose when signing up.',
  password_rule: 'A password needs at least 8 characters with a letter, a digit and a special character.',
  password_wrong: 'The password is wrong.',
  second_factor_off: 'Switch the second factor on first.',
  second_factor_on: 'To move to another app, switch the second factor off first.',
  second_factor_set_up: 'Set up an authenticator app first, then confirm with a code.',
  password_sign_in_off: 'Use another way on the sign-in page. Only superadmins sign in with a password.',
  link_needs_domains:
    'Linking by address needs the mail domains for whose addresses this provider may speak (emailDomains).',
  mapping_needs_claim: 'A mapping needs the claim that names the groups (groupsClaim).',
  no_superadmin_password: 'No superadmin has a password. Set one first: it is the way in while every provider is down.',
  passwords_off_with_sign_up:
    'Accounts of people who sign up have a password only. Close sign-up first (allowSignUp), or leave passwords on.',
  sign_in_provider_needed: 'Add a sign-in provider first, and test it.',
  sign_in_provider_only:
    'It is the only active provider, and users sign in without a password. Allow passwords again first (passwordSignIn).',
  sign_in_ended: 'The sign-in has ended. Sign in again.',
  sso_account_other: 'The account {email} is linked to another person at this provider. Ask an admin to unlink it.',
  sso_account_unlinked:
    'The account {email} is not linked to this provider. Sign in with your password, or ask an admin.',
  sso_ask_for_account: 'Ask an admin for an account with the address {email}.',
  sso_clock: 'Try again in a minute. If it happens again, an admin has to check the clocks of both servers.',
  sso_denied: 'Sign-in was cancelled or refused at {provider}. Try again, or ask the admins of {provider} for access.',
  sso_email_domain: 'The address {email} may not sign in with {provider}. Use an address of your organization.',
  sso_email_missing: '{provider} sends no e-mail address. Ask an admin to check scopes and claims of the provider.',
  sso_email_unverified: 'Confirm the address {email} at {provider} first, then sign in again.',
  sso_provider_away: '{provider} does not answer. Try again in a moment; superadmins can sign in with their password.',
  sso_provider_wrong:
    '{provider} does not accept the settings of Berth. An admin has to test the provider on the page Sign-in providers.',
  sso_start_again: 'Start the sign-in again in this browser.',
  sso_token_invalid:
    'Start the sign-in again. If it happens again, tell an admin: the answer of {provider} could not be trusted.',
  ticket_used: 'Sign in with your password, or run `berth up` again for a new link.',
  try_again_in_minutes: 'Try again in {minutes} minutes.',
  try_again_in_second: 'Try again in a second.',
  try_again_in_seconds: 'Try again in {seconds} seconds.',

  // rights
  only_admin: 'Only an admin may do this.',
  only_superadmin: 'Only a superadmin may do this.',
  only_superadmin_moves: 'Only a superadmin can move users to another domain.',
  only_superadmin_promotes: 'Only a superadmin can make superadmins.',
  only_members_connect: 'Only the owner of a session, and members whom the owner lets use it, can connect to it.',
  owner_decides: '{owner} shares the session with you, and decides about it.',
  only_admin_launches_for_others: 'Only an admin can launch for another user.',
  only_admin_project_folders: 'Only an admin makes folders for a project.',
  other_page: 'The request comes from another web page. Open the console at its own address.',

  // settings
  announcement_ends_first: 'The announcement must end after it begins.',
  no_apps_address:
    'Published apps need an address. Set console.appsAddress in berth.toml (BERTH_APPS_ADDRESS), and start Berth again.',
  smtp_password_in_clear:
    'The password for {host} would be sent unencrypted. Set smtpSecurity to tls or starttls, or smtpUser to null.',

  // the server
  database_away: 'The database does not answer. Try again in a moment.',
  database_disk_full: 'The disk of the database is full. An administrator has to free space on it.',
  manager_away: 'The manager does not answer.',
  nothing_here: 'Nothing exists at this address.',
  request_too_long: 'The limit is 1 MiB.',

  // sessions
  dependency_unknown: 'You have no session "{session}" to wait for.',
  files_of_several: 'The session had several containers. Their files are not kept. Start a new session instead.',
  files_taken: 'Session "{session}" has taken over the files of this session.',
  files_taken_by_another: 'Another session has taken over the files of this session.',
  host_left:
    'The host that has the files does not belong to Berth or to this resource group any more. Start a new session instead.',
  image_unknown:
    'No host has an image named "{image}", and no registry that you may use offers it. The list of images shows the ones that you can launch.',
  name_too_long: '"{name}" is too long for a session name: 64 characters at most.',
  never_ran: 'The session never ran, so it has no files. Start a new session instead.',
  not_shared_with: 'The session is not shared with this user.',
  no_project_no_members: 'The session belongs to no project, so it has no members.',
  policy_allows_none: 'Resource policy "{policy}" allows no sessions. Ask an admin for another one.',
  project_deactivated: 'An admin has deactivated project "{project}". Choose another one.',
  project_deleted: 'The project was deleted a moment ago.',
  project_deleted_choose: 'The project was deleted a moment ago. Choose another one.',
  resource_group_closed: 'An admin has closed resource group "{group}". Choose another one.',
  resource_group_closed_because: 'An admin has closed resource group "{group}": {notice}',
  session_ended: 'The session has ended.',
  session_is: 'The session is {status}.',
  session_just_ended: 'The session has just ended.',
  templates_at_most: 'You have {count} templates; {limit} are allowed. Delete one first.',
  template_unknown: 'You have no template "{name}".',
  too_many_containers:
    'The request has {containers} containers; resource policy "{policy}" allows {limit} in one session. Ask for fewer.',
  user_unknown_to_launch: 'There is no user "{user}" that you can launch for.',
  yours_already: 'The session is yours already.',

  // apps and connections
  app_refuses: 'The app does not accept connections.',
  app_silent: 'The app did not accept the connection in time.',
  app_unknown: 'The image of the session offers no app "{app}" that can be opened.',
  grant_for_another: 'The access is for another session or app. Open the app again.',
  grant_over: 'The access has expired or was withdrawn. Open the app again.',
  host_silent: 'The host of this session did not open a connection in time. Try again.',
  host_without_session: 'The host does not run this session.',
  link_hours: 'A link may last at most {hours} hours here.',
  links_at_most: 'You may have at most {count}. End others first.',
  not_an_address: '"{text}" is neither an address nor a range of addresses.',
  only_web_apps: 'Only web apps can be published, and {app} is not one.',
  ports_taken: 'Every port of the range has a published app. End another one first.',
  publishing_off: 'The administrators have not allowed it.',
  sign_in_ended_app: 'The sign-in ended while the app was starting. Sign in again.',
  too_many_waiting: 'Too many connections are waiting already. Try again in a moment.',
  tunnel_closed: 'The tunnel was closed.',
  tunnel_reopened: 'The tunnel was closed in the meantime. Open it again.',

  // folders and files
  copy_into_itself: '"{path}" cannot be copied into itself.',
  dotfiles_at_most: 'At most {count} are kept. Remove one first.',
  dotfile_unknown: 'You have no dotfile "{path}".',
  dotfiles_too_large:
    'All together may have {limit} KiB, and the others have {others} KiB. Keep large files in a folder.',
  download_expired: 'The link has expired. Start the download again in the console.',
  file_there: '"{name}" exists already.',
  folder_dot_of_project: 'The name of a folder of a project must not start with a dot.',
  folder_in_trash: '"{name}" is in the trash. Restore it first.',
  folder_not_own: 'Nobody can be invited to their own folder, and nobody can invite themselves.',
  folder_permission_of_project: 'Only the folder of a project has a permission.',
  folder_taken: 'There is a folder "{name}" already. Choose another name.',
  folder_trashed: 'The folder "{name}" went to the trash.',
  invitation_over: 'The invitation was withdrawn, accepted or declined, or it expired.',
  member_already: '{email} is a member of "{name}" already.',
  member_gone: 'The folder has no such member any more.',
  neither_file_nor_directory: '"{name}" is neither a file nor a directory.',
  special_file: '"{name}" is a pipe, a socket or a device.',
  storage_full: 'The storage "{storage}" is full.',
  storage_silent: 'The storage "{storage}" does not answer.',
  storage_unmounted: 'The storage "{storage}" was unmounted just now.',
  text_too_long: 'The limit is 4 MiB. Upload larger files instead.',
  upload_gone: 'The upload was cancelled, has expired, or never existed. Start it again.',
} as const

export type CauseKey = keyof typeof CAUSES

/** Placeholders of a sentence: `'{a} of {b}'` → `'a' | 'b'`. */
type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Values<K extends CauseKey> = [Names<(typeof CAUSES)[K]>] extends [never]
  ? []
  : [values: { readonly [Name in Names<(typeof CAUSES)[K]>]: string | number }]

/** The part of an error's detail that says its cause: as an English sentence, and as a key with values for translations. */
export type Because = {
  readonly why: string
  readonly cause: CauseKey
  readonly values?: Readonly<Record<string, string | number>>
}

/** The cause as a part of an error's detail: `new AppError('file_exists', { name, ...because('file_there', { name }) })`. */
export function because<K extends CauseKey>(cause: K, ...[values]: Values<K>): Because {
  const given: Readonly<Record<string, string | number>> | undefined = values
  if (given === undefined) return { why: CAUSES[cause], cause }
  const why = CAUSES[cause].replaceAll(/\{(\w+)\}/g, (_place, name: string) => String(given[name]))
  return { why, cause, values: given }
}
