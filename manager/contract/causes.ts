import { ADMINISTRATION_CAUSES } from './administration-causes.ts'
import { AGENT_CAUSES } from './agent-causes.ts'
import { DOCTOR_CAUSES } from './doctor-causes.ts'
import { isAppError } from './errors.ts'
import { HOST_CAUSES } from './host-causes.ts'
import { LOCAL_CAUSES } from './local-causes.ts'
import { SESSION_CAUSES } from './session-causes.ts'
import { type Placeholders } from './placeholders.ts'

/**
 * Causes of errors by key. The English text is the error's `why`; a client in another language shows its own sentence for the
 * key, with the same values in the places of `{names}`; `{count, plural, one {…} other {…}}` chooses by number. Keys stay when a
 * sentence is reworded.
 */
export const CAUSES = {
  // local proxy
  browser_elsewhere:
    'This browser runs on another computer than Berth. Use the desktop app or the berth command on your computer.',
  browser_unproven:
    'Berth does not know that this browser runs on its computer. Run "berth up" there and open the second link that it prints in this browser. The desktop app and the berth command do not need the link.',

  // signing in
  account_deactivated: 'An admin has deactivated the account.',
  account_or_domain_deactivated: 'An admin has deactivated the account or its domain.',
  agree_to_terms: 'Agree to the terms first.',
  ask_admin_for_account: 'Ask an admin for an account.',
  ask_admin_for_link: 'Ask an admin for a link.',
  ask_for_new_invitation: 'Ask for a new invitation.',
  ask_for_new_link: 'Ask for a new link. If you have used this link before, just sign in.',
  choose_new_password: 'An admin wants you to choose a new password.',
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
  identity_only_way: 'Only superadmins sign in with a password here. Link another account first.',
  identity_taken:
    'This account at {provider} is linked to another user, or you have linked another one of {provider}. Unlink that one first.',
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
  sign_up_email_domain: 'Only people with an address of these domains get an account here: {domains}.',
  sign_up_list_full: 'Too many people are waiting for an account. Try again in a few days, or ask an admin.',
  sign_up_request_instead: 'Ask for an account, or use an invitation.',
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
  not_fair_share: 'Resource group "{group}" has the sequencer {sequencer}: there are shares with drf only.',
  no_apps_address:
    'Published apps need an address. Set console.appsAddress in berth.toml (BERTH_APPS_ADDRESS), and start Berth again.',
  smtp_password_in_clear:
    'The password for {host} would be sent unencrypted. Set smtpSecurity to tls or starttls, or smtpUser to null.',

  // the server
  backup_directory_refused:
    'The directory {directory} cannot be used ({errno}). It must belong to the user of the manager.',
  backup_disk_full: 'The disk of {directory} has too little free space for a backup.',
  backup_interrupted: 'The manager that made the backup has stopped.',
  certificate_changed:
    'The certificate of {server} is not the one that you trusted, so somebody else may answer there. Known: SHA-256 {known}. Now: SHA-256 {now}. Ask the administrator of the server; trust the new one only if it is right.',
  database_away: 'The database does not answer. Try again in a moment.',
  database_disk_full: 'The disk of the database is full. An administrator has to free space on it.',
  manager_away: 'The manager does not answer.',
  proxy_away: 'The proxy {proxy} of your network does not answer.',
  proxy_kind:
    'Your network asks to reach {server} by {proxy}, a kind of proxy that Berth cannot use. Name an HTTP or a SOCKS 5 proxy in its settings.',
  proxy_no_http: 'The server at {proxy}, which your network names as its proxy, is no HTTP proxy.',
  proxy_no_socks: 'The server at {proxy}, which your network names as its proxy, does not speak SOCKS 5.',
  proxy_no_way: 'The proxy {proxy} of your network could not connect to {server} (HTTP {status}).',
  proxy_refused: 'The proxy {proxy} of your network refused to connect to {server} (HTTP {status}).',
  proxy_sign_in: 'The proxy {proxy} of your network asks for a name and a password.',
  proxy_socks_refused: 'The proxy {proxy} of your network could not connect to {server}: {text}.',
  proxy_sign_in_kind: 'The proxy {proxy} of your network asks for a sign-in that Berth cannot do: {kinds}.',
  proxy_sign_in_wrong: 'The proxy {proxy} of your network refused the name or the password.',
  host_name_unknown: 'This server does not answer to that host name. Add it to BERTH_ALLOWED_HOSTS if it should.',
  host_field_changed:
    'The reverse proxy in front of Berth changes the Host field. Configure it to pass on the Host field of the browser; see docs/admin/agents.md.',
  sent_by_other_page: 'Another web page sent this request. Berth did not carry it out.',
  page_server_away: 'The page server does not answer.',
  nothing_here: 'Nothing exists at this address.',
  request_too_long: 'The limit is 1 MiB.',

  // sessions
  dependency_unknown: 'You have no session "{session}" to wait for.',
  extension_longest: 'The session already has the longest lifetime that its resource policy allows.',
  extension_promised: 'Another session waits for these resources, and was promised a start at the end of this session.',
  files_of_several: 'The session had several containers. Their files are not kept. Start a new session instead.',
  files_taken: 'Session "{session}" has taken over the files of this session.',
  files_taken_by_another: 'Another session has taken over the files of this session.',
  host_left:
    'The host that has the files does not belong to Berth or to this resource group any more. Start a new session instead.',
  image_unknown:
    'No host has an image named "{image}", and no registry that you may use offers it. The list of images shows the ones that you can launch.',
  name_too_long: '"{name}" is too long for a session name: 64 characters at most.',
  never_ran: 'The session never ran, so it has no files. Start a new session instead.',
  no_project_no_members: 'The session belongs to no project, so it has no members.',
  not_shared_with: 'The session is not shared with this user.',
  only_members_download_key:
    'Only the owner of a session, and members whom the owner lets use it, can download its key.',
  only_members_open_apps: 'Only the owner of a session, and members whom the owner lets use it, can open its apps.',
  only_owner_changes_folders: 'Only the owner of a session adds folders to it and takes them out.',
  only_owner_labels: 'Only the owner of a session can change its tags and its note.',
  only_owner_publishes: 'Only the owner of a session can publish its apps.',
  only_owner_restarts: 'Only the owner of a session can start it again with its files.',
  image_of_running_session: 'An image is made of a running session. Start the session first.',
  only_owner_saves: 'Only the owner of a session can make an image of it.',
  session_images_off: 'A superadmin has switched images of sessions off.',
  only_owner_shares: 'Only the owner of a session can share it.',
  owner_inactive: 'The account of {email} is not active, so its sessions do not start.',
  policy_allows_none: 'Resource policy "{policy}" allows no sessions. Ask an admin for another one.',
  priority_at_most: 'Only an admin can set a priority above {usual}.',
  project_deactivated: 'An admin has deactivated project "{project}". Choose another one.',
  project_deleted: 'The project was deleted a moment ago.',
  project_deleted_choose: 'The project was deleted a moment ago. Choose another one.',
  resource_group_closed: 'An admin has closed resource group "{group}". Choose another one.',
  resource_group_closed_because: 'An admin has closed resource group "{group}": {notice}',
  session_ended: 'The session has ended.',
  session_is: 'The session is {status}.',
  session_just_ended: 'The session has just ended.',
  session_member_unknown: 'The project "{project}" of the session has no active member {email}.',
  session_used_by_others:
    'Others may use this session, and all of your sessions use "{name}". Withdraw their access first, or add another folder.',
  session_mounts_dot_folder:
    'The session mounts your folder "{name}", which all of your sessions use. Others can view this session; to let them use one, launch it without the folders that are mounted by themselves.',
  session_named: 'You have a live session named "{name}". Choose another name.',
  session_shares_at_most: 'The session is shared with {count} members; more are not possible.',
  image_defaults_at_most:
    'You have defaults for {limit} images; more are not possible. Remove those of another image first.',
  image_defaults_unknown: 'You have no defaults for the image "{image}".',
  template_unknown: 'You have no template "{name}".',
  templates_at_most: 'You have {count} templates; {limit} are allowed. Delete one first.',
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
  archive_at_most: 'An archive takes at most {limit} files. Download directories one by one.',
  archive_bytes_at_most:
    'An archive takes at most {limit}. Sparse files count as a whole. Download directories one by one.',
  archive_only_files: '"{name}" is neither a file nor a directory. Leave it out.',
  bundle_file_too_large: '"{path}" has more than 1 MiB. Download it by itself.',
  changed_while_moved:
    '"{name}" has changed while it was copied, so it stays where it is. Try again when nothing writes to it.',
  clone_left_over: 'The copy ended early, and the new folder "{name}" could not be deleted yet: it is incomplete.',
  connection_cut: 'The connection was cut.',
  copy_into_itself: '"{path}" cannot be copied into itself.',
  directory_has_files: '"{name}" is a directory with files in it.',
  directory_there: '"{name}" exists already, as a directory.',
  dot_folders_at_most:
    'You have {count} folders whose names start with a dot; {limit} can be mounted automatically. Rename some, or launch without them.',
  dotfile_unknown: 'You have no dotfile "{path}".',
  dotfiles_at_most: 'At most {count} are kept. Remove one first.',
  dotfiles_too_large:
    'All together may have {limit} KiB, and the others have {others} KiB. Keep large files in a folder.',
  download_expired: 'The link has expired. Start the download again in the console.',
  file_changed_meanwhile: '"{name}" has changed since you read it. Read it again before you write it.',
  file_error: '"{name}" cannot be read or written: the storage reports an error.',
  file_exists_meanwhile: '"{name}" exists already. Read it again before you write it.',
  file_forbidden: '"{name}" is not for Berth to read or change: the permissions on the storage forbid it.',
  file_gone_meanwhile: '"{name}" was deleted or renamed meanwhile. Read it again before you write it.',
  file_in_use: '"{name}" is in use on the storage. Try again later.',
  file_is_directory: '"{name}" is a directory.',
  file_is_link: '"{name}" is a link. Links are not followed.',
  file_is_special: '"{name}" is a pipe, a socket or a device. Only regular files are read.',
  file_made_meanwhile: '"{name}" was made meanwhile. Read it again before you write it.',
  file_missing: '"{name}" does not exist.',
  file_name_refused: '"{name}" has a name that the storage does not accept.',
  file_name_rule: 'A name must have 1 to 255 bytes, must not be "." or "..", and must not hold "/" or NUL.',
  file_name_too_long: '"{name}" has a name that is too long for the storage.',
  file_not_directory: '"{name}" is no directory. Links are not followed.',
  file_not_movable: '"{name}" cannot be moved into itself, or has a name that the storage does not accept.',
  file_not_regular: '"{name}" is no regular file.',
  file_other_system: '"{name}" lies on another file system than its new place. Copy it, and delete it here.',
  file_remounted: '"{name}" is not there any more: the storage was mounted anew. Try again.',
  file_shorter: 'A file became shorter while it was read. Try again when nothing writes to it.',
  file_storage_gone: '"{name}" cannot be reached: the storage is away.',
  file_storage_silent: '"{name}" cannot be reached: the storage does not answer.',
  file_there: '"{name}" exists already.',
  file_there_choose: '"{name}" exists already. Choose another name.',
  file_too_large: '"{name}" cannot be written: the storage allows no file of this size.',
  files_of_folder_gone: 'The files of the folder are not on the storage "{storage}" any more. Tell an admin.',
  folder_ambiguous: 'Several folders are named "{name}": {choices}. Use one of these names, or an id.',
  folder_deleted_filling: 'The folder "{name}" was deleted while it was filled.',
  folder_dot_has_members:
    '"{name}" has members or open invitations, and a folder whose name starts with a dot is mounted in each of your sessions. Take it back from them first.',
  folder_dot_not_shared:
    '"{name}" is mounted in each of your sessions, so programs there would run what others write. Share a folder whose name does not start with a dot.',
  folder_dot_of_project: 'The name of a folder of a project must not start with a dot.',
  folder_filling: 'The folder "{name}" is still being filled with a copy. Wait until the copy has ended.',
  folder_filling_mount:
    'The folder "{name}" is still being filled with a copy. Wait until the copy has ended, or leave the folder out.',
  folder_from_launch:
    'The session has had "{name}" since it started, so it stays until the session ends. Start the session again without it.',
  folder_in_session: 'The session has "{name}" already, at "{path}". Take it out first.',
  folder_in_trash: '"{name}" is in the trash. Restore it first.',
  folder_not_in_session: 'The session has no such folder.',
  folder_not_own: 'Nobody can be invited to their own folder, and nobody can invite themselves.',
  folder_not_trashed_first:
    '"{name}" is not in the trash. Move it there first; after that it can be deleted permanently.',
  folder_of_session_deleted:
    'The folder "{name}" of this session was deleted. Start the session again without it, or launch a new one.',
  folder_permission_needs_project: 'Only the folder of a project has a permission: name its project.',
  folder_permission_of_project: 'Only the folder of a project has a permission.',
  folder_project_deactivated: 'The project of the folder "{name}" is deactivated. Ask an admin to activate it.',
  folder_project_deactivated_mount:
    'The project of the folder "{name}" is deactivated. Leave the folder out, or ask an admin to activate the project.',
  folder_share_limit: '"{name}" has {members} members and {open} open invitations; {limit} together are possible.',
  folder_taken: 'There is a folder "{name}" already. Choose another name.',
  folder_trashed: 'The folder "{name}" went to the trash.',
  folder_trashed_mount: 'The folder "{name}" is in the trash. Restore it first, or leave it out.',
  folder_trashed_restore: 'The folder "{name}" is in the trash. Restore it first.',
  folder_unknown: 'You have no folder "{name}".',
  folder_used_by: 'Live sessions use "{name}": {sessions}. End them first.',
  folder_used_by_more: 'Live sessions use "{name}": {sessions} and {more} more. End them first.',
  folders_in_session_at_most: 'A session mounts at most {limit} folders.',
  folders_not_told:
    'Its host has not said that it can: the agent there is of an earlier version, or not connected. Try again in a moment.',
  folders_of_running: 'Folders are added to running sessions. This one is {status}.',
  folders_at_most:
    'Resource policy "{policy}" allows {limit} folders, and you have {count}. Delete one, also from the trash, or ask an admin for another policy.',
  folders_at_most_one:
    'Resource policy "{policy}" allows 1 folder, and you have {count}. Delete one, also from the trash, or ask an admin for another policy.',
  foreign_hard_link:
    '"{name}" is a hard link to a file of another owner, which may lie outside of the folder. It is not opened.',
  invitation_over: 'The invitation was withdrawn, accepted or declined, or it expired.',
  leave_managed: 'You manage "{name}" and were not invited to it.',
  leave_of_project: 'You see "{name}" as a member of its project: an admin takes you out of the project.',
  links_not_followed: '"{name}" is no regular file. Links are not followed.',
  may_not_change: 'You may read the files of "{name}", but not change them. Ask the owner for the permission.',
  may_not_delete:
    'You may read the files of "{name}", but not delete, replace or rename them. Ask the owner for the permission.',
  member_already: '{email} is a member of "{name}" already.',
  member_gone: 'The folder has no such member any more.',
  mount_inside: '"{path}" lies inside "{outer}", where another folder is to be mounted. Give it another path.',
  mount_over_automatic:
    'Your folder "{folder}" is mounted automatically at "{at}", so "{name}" cannot be mounted at "{path}". Give it another path, or launch without automatic mounts.',
  mount_same: 'Two folders are to be mounted at "{path}". Give one of them another path.',
  name_an_entry: 'Name a file or directory in the folder.',
  neither_file_nor_directory: '"{name}" is neither a file nor a directory.',
  nested_copy: '"{name}" is nested more than {levels} directories deep. Copy directories further down one by one.',
  no_byte_arrived: 'No byte arrived for a minute.',
  original_left: '"{name}" is in its new place, but could not be deleted in the old one. Delete it there.',
  path_is_folder: 'The path names the folder itself. Name a file in it.',
  path_names_file: 'The path must name a file in the folder.',
  special_file: '"{name}" is a pipe, a socket or a device.',
  storage_entries_full: '"{name}" cannot be made: the storage allows no more entries here.',
  quota_folder_files:
    '"{name}" may have {limit} files, directories and links, has {used}, and this makes {files} more. Delete files, or ask whoever manages the folder for a higher limit.',
  quota_total_files:
    'All folders of the owner of "{name}" may have {limit} files, directories and links, have {used}, and this makes {files} more. Delete files or folders, also from the trash, or ask an admin for another resource policy.',
  quota_project_files:
    'All folders of the project of "{name}" may have {limit} files, directories and links, have {used}, and this makes {files} more. Delete files or folders, also from the trash, or ask an admin of the project for a higher limit.',
  quota_folder_full:
    '"{name}" may have {limit} bytes, has {used}, and this needs {bytes} more. Delete files, or ask whoever manages the folder for a higher limit.',
  quota_folder_staged:
    '"{name}" may have {limit} bytes. It has {used} with the {staged} of uploads that are not finished, and this needs {bytes} more. Finish or cancel uploads, delete files, or ask whoever manages the folder for a higher limit.',
  quota_project_full:
    'All folders of the project of "{name}" may have {limit} bytes, have {used}, and this needs {bytes} more. Delete files or folders, also from the trash, or ask an admin of the project for a higher limit.',
  quota_project_staged:
    'All folders of the project of "{name}" may have {limit} bytes. They have {used} with the {staged} of uploads that are not finished, and this needs {bytes} more. Finish or cancel uploads, delete files or folders, also from the trash, or ask an admin of the project for a higher limit.',
  quota_total_full:
    'All folders of the owner of "{name}" may have {limit} bytes, have {used}, and this needs {bytes} more. Delete files or folders, also from the trash, or ask an admin for another resource policy.',
  quota_total_staged:
    'All folders of the owner of "{name}" may have {limit} bytes. They have {used} with the {staged} of uploads that are not finished, and this needs {bytes} more. Finish or cancel uploads, delete files or folders, also from the trash, or ask an admin for another resource policy.',
  storage_full: 'The storage "{storage}" is full.',
  storage_no_space: '"{name}" cannot be written: the storage has no space left.',
  storage_quota_full: '"{name}" cannot be written: the quota on the storage is used up.',
  storage_read_only: '"{name}" cannot be changed: the storage is mounted read-only.',
  storage_silent: 'The storage "{storage}" does not answer.',
  storage_unknown: 'This Berth has no storage host "{storage}".',
  storage_unmounted: 'The storage "{storage}" was unmounted just now.',
  text_too_long: 'The limit is 4 MiB. Upload larger files instead.',
  upload_busy: 'Another request writes to this upload. Try again in a few seconds.',
  upload_continues_at: 'The upload continues at {at}, and the request starts at {from}.',
  upload_gone: 'The upload was cancelled, has expired, or never existed. Start it again.',
  upload_incomplete_yet: '{offset} of {size} bytes have arrived.',
  upload_needs_space: 'The upload needs {bytes} bytes, and the storage "{storage}" has {left} left.',
  upload_other_hash: '"{path}" arrived with another SHA-256 than announced. Upload it again.',
  upload_too_long: 'The body is longer than the rest of the upload.',
  uploads_at_most: 'You have {limit} unfinished uploads. Finish or cancel some.',
  cursor_wrong: 'The cursor is not valid. Use the one that the last page of the list returned.',
  group_without_access: 'You have no access to a resource group "{group}".',
  group_without_access_in_project:
    'You have no access to a resource group "{group}" in this project. An admin can grant access.',
  limit_of_user:
    'The request needs {needed}; resource policy "{policy}" gives each user at most {limit} in total. Ask for less.',
  limit_of_keypair:
    'The request needs {needed}; resource policy "{policy}" gives each keypair at most {limit} in total. Ask for less.',
  limit_of_project: 'The request needs {needed}; project "{project}" may hold at most {limit} in total. Ask for less.',
  limit_of_domain: 'The request needs {needed}; domain "{domain}" may hold at most {limit} in total. Ask for less.',
  member_of_no_project: 'You are not a member of any project. Ask an admin to add you.',
  choose_project: 'Choose a project. Your projects: {projects}.',
  not_member_of_project: 'You are not a member of a project "{project}". Your projects: {projects}.',
  resource_group_unknown: 'There is no resource group "{group}".',
  domain_unknown: 'There is no domain "{domain}".',
  task_cancelled: 'The task was cancelled.',
  task_stopped: 'The manager that ran the task has stopped. Start the task again.',
  task_just_ending: 'The same work is just ending. Try again in a moment.',
  from_before_to: '"from" must be before "to".',
  periods_at_most: 'At most {limit} periods can be asked for at once.',
  days_at_most: 'At most {limit} days can be asked for at once.',
  choose_other_address: 'Choose another address.',
  only_console: 'Only the process of the console may do this.',
  own_account_elsewhere: 'For your own account, use {request}.',
  try_again: 'Try again.',
  only_admin_chooses_keys: 'Only an admin can choose the keys. Leave them out, and random ones are made.',
  only_admin_makes_keypairs: 'Only an admin can make keypairs for others.',
  only_superadmin_policy: 'Only a superadmin can set the resource policy.',
  only_superadmin_rate_limit: 'Only a superadmin can set the rate limit.',
  keypair_requests: 'This keypair may send {limit} requests in 15 minutes. Try again in {seconds} s.',
  access_key_or_signature: 'The access key or the signature is wrong.',
  signed_before_restore: 'The request was signed before the database was restored. Sign it again.',
  account_domain_deactivated: 'An admin has deactivated the domain of the account.',
  sign_separately: 'Sign every request separately.',
  clock_behind: "Your clock is {seconds} s behind the server's.",
  clock_ahead: "Your clock is {seconds} s ahead of the server's.",
  ssh_key_private: 'This is a private key. Send the content of the .pub file instead.',
  ssh_key_one_line: 'Send the key as one line.',
  ssh_key_types: 'The key must begin with one of {types}.',
  ssh_key_unreadable: 'The key cannot be read. Copy the whole line of the .pub file.',
  ssh_key_rsa_bits: 'An RSA key needs at least {bits} bits.',
  only_owner_changes: 'Only its owner changes it.',
  only_admin_changes_project_folder: 'It belongs to a project: only an admin changes it.',
  no_storage_for_you: 'You may use no storage for folders. Ask an admin for one.',
  storage_not_for_you: 'You may use no storage host "{storage}"; yours are {yours}.',
  kernel_unknown: 'The session has no kernel "{kernel}".',
  session_terminated: 'The session was terminated.',
  no_host_has_any: 'The request needs {needed}; no host has any. Ask for less.',
  host_offers_at_most: 'The request needs {needed}; one host offers at most {largest}. Ask for less.',
  host_offers_beside_the_rest:
    'The request needs {needed}; one host offers at most {largest} together with the rest of the request. Ask for less.',
  page_end_deleted: 'The session at which the last page ended was deleted meanwhile. Begin with the first page again.',
  only_admin_forces_end: 'Only an admin can end a session without waiting for its agent.',
  start_time_passed: 'The start time has passed.',
  start_time_within: 'The start time must be within {days} days.',
  extension_until: 'The resource policy of the session allows it to run until {time} at the latest.',
  session_named_one_of: 'You have live sessions with some of these names: {names}. Choose another name.',
  storage_at_silent: 'The storage "{storage}" at {path} does not answer.',
  storage_at_other: 'Another storage than that of "{storage}" is mounted at {path}.',
  storage_at_unmounted: 'The storage "{storage}" is not mounted at {path}: there is no file {file}.',
  storage_at_unusable: 'The storage "{storage}" at {path} cannot be used: {text}.',
  storage_at_not_empty:
    '{path} is no empty directory: the storage "{storage}" needs one of its own, which exists and is mounted.',
  storage_at_has_name: 'The storage at {path} is another storage host of this Berth, and cannot be "{storage}" too.',
  storage_at_differs: 'Another manager uses another storage as "{storage}": mount the same one at {path}.',
  terminal_name: 'The name of a terminal may have a-z, 0-9 and "-".',
  terminal_size: 'A terminal must have 1 to 1000 columns and rows.',
  address_silent: '{address} does not answer.',
  bundle_entries_at_most: 'A bundle takes at most {limit} entries.',
  bundle_header_too_long: 'The header of an entry is too long.',
  bundle_bytes_at_most: 'A bundle takes at most {bytes} bytes of files.',
  bundle_cut: 'The body ends within an entry.',
  idempotency_key_new: 'Use a new key for every new request.',
  file_has_bytes: 'The file has {bytes} bytes.',
  streams_at_most: 'One sign-in has at most {limit} event streams.',
  field_wrong: '{field}: {text}',
  fields_wrong: '{field}: {text} (and {count} more)',
  request_form: 'The request does not have the right form.',
  agent_says: '{text}',
  host_at_other_manager:
    'The host is connected to another manager, but not to this one. Administrators: "berth admin manager ls" shows why.',
  host_not_connected: 'The host is not connected. Try again once it is back.',
  agent_named: 'Agent {agent}:',
  agent_sent_nothing: 'The agent has sent nothing for too long.',
  agent_newer_connection: 'The agent opened a newer connection.',
  manager_stopping: 'The manager is stopping.',
  connection_lost: 'The connection was lost.',
  agent_removed: 'The agent was removed from this manager.',
  agent_answer_unreadable:
    'The agent sent an answer to {request} that this manager cannot read. Update both to the same version.',
  agent_not_connected: 'The agent is not connected.',
  agent_no_answer: 'The agent did not answer {request} within {seconds} s.',
  not_a_manager: 'The server at {where} is not a Berth manager. Check the address.',
  http_status: 'HTTP {status}',
  start_cancelled: 'The start was cancelled.',
  attempt_failed: 'This attempt has failed.',
  agent_connections: 'This agent has too many connections.',
  manager_gone: 'The named manager does not exist, or is not running any more.',
  bundle_header_wrong: 'Header of an entry: {field} {text}',
} as const

/** Causes of all parts: users meet those above, administrators also the others. Keys are unique in all of them. */
const ALL = {
  ...DOCTOR_CAUSES,
  ...CAUSES,
  ...ADMINISTRATION_CAUSES,
  ...AGENT_CAUSES,
  ...HOST_CAUSES,
  ...LOCAL_CAUSES,
  ...SESSION_CAUSES,
}

export type CauseKey = keyof typeof ALL

type Values<K extends CauseKey> = [Placeholders<(typeof ALL)[K]>] extends [never]
  ? []
  : [values: { readonly [Name in Placeholders<(typeof ALL)[K]>]: string | number }]

/** A sentence of the tables for translations: its key, and the values in the places of its `{names}`. */
export type CauseSentence = {
  readonly cause: CauseKey
  readonly values?: Record<string, string | number>
}

/**
 * The part of an error's detail that says its cause: as English text, and as a key with values for translations. A cause of
 * several sentences has the further ones in `more`.
 */
export type Because = CauseSentence & { readonly why: string; readonly more?: CauseSentence[] }

/** `{name}`, or `{name, plural, one {…} other {…}}` with `#` for the number. */
const PLACE = /\{(\w+)(?:, plural, one \{([^{}]*)\} other \{([^{}]*)\})?\}/g

/** The cause as a part of an error's detail: `new AppError('file_exists', { name, ...because('file_there', { name }) })`. */
export function because<K extends CauseKey>(cause: K, ...[values]: Values<K>): Because {
  const given: Record<string, string | number> | undefined = values
  if (given === undefined) return { why: ALL[cause], cause }
  const text: string = ALL[cause]
  const why = text.replaceAll(PLACE, (_place, name: string, one: string | undefined, other: string) => {
    const value = given[name]
    return one === undefined ? String(value) : (value === 1 ? one : other).replaceAll('#', String(value))
  })
  return { why, cause, values: given }
}

/** A cause of several sentences. */
export function together(first: Because, ...rest: readonly Because[]): Because {
  const more = [...(first.more ?? []), ...rest.flatMap(({ why: _, more: further = [], ...one }) => [one, ...further])]
  return { ...first, why: [first, ...rest].map(({ why }) => why).join(' '), ...(more.length === 0 ? {} : { more }) }
}

/** The same for any number of sentences before the last one. */
export const inTurn = (sentences: readonly Because[], last: Because): Because =>
  sentences.reduceRight((after, sentence) => together(sentence, after), last)

export const isCauseKey = (key: string): key is CauseKey => Object.hasOwn(ALL, key)

/** The cause that an error's detail has; undefined without one, and for a key that this version does not know. */
export function causeIn({ why, cause, values, more }: Readonly<Record<string, unknown>>): Because | undefined {
  if (typeof why !== 'string' || typeof cause !== 'string' || !isCauseKey(cause)) return undefined
  return { why, cause, ...(values ? { values } : {}), ...(more ? { more } : {}) } as Because
}

/** The cause that an error tells; undefined for an error without one. Not in `errors.ts`: pages load that, and have no table of English texts. */
export const becauseOf = (error: unknown): Because | undefined =>
  isAppError(error) ? causeIn(error.detail) : undefined
