/** Why somebody cannot sign in, or may not do something: accounts, sign-ins, keypairs, rights. See `CAUSES`. */
export const ACCOUNT_CAUSES = {
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
  directory_disabled: 'Your account in the directory of your organization is switched off. Ask its admins.',
  directory_password_over:
    'Your password in the directory has expired. Choose a new one at your organization, then sign in.',
  use_browser:
    'This provider signs people in with a browser. Use its button on the sign-in page, or `berth login --sso`.',
  use_name_and_password:
    'This provider takes name and password here, not in a browser. Enter them on the sign-in page.',
  sso_account_other: 'The account {email} is linked to another person at this provider. Ask an admin to unlink it.',
  sso_account_unlinked:
    'The account {email} is not linked to this provider. Sign in with your password, or ask an admin.',
  sso_ask_for_account: 'Ask an admin for an account with the address {email}.',
  sso_clock: 'Try again in a minute. If it happens again, an admin has to check the clocks of both servers.',
  sso_denied: 'Sign-in was cancelled or refused at {provider}. Try again, or ask the admins of {provider} for access.',
  sso_email_domain: 'The address {email} may not sign in with {provider}. Use an address of your organization.',
  sso_email_letters:
    '{provider} gives you the address {email}, which has letters before the @ that can look like others. Ask the admins of {provider} for one with letters from a to z, digits and signs only.',
  sso_email_missing: '{provider} sends no e-mail address. Ask an admin to check scopes and claims of the provider.',
  sso_email_unverified: 'Confirm the address {email} at {provider} first, then sign in again.',
  sso_place:
    'This Berth is not known as {at}. Use its usual address, or ask an admin to name this one (BERTH_ALLOWED_HOSTS, publicUrl).',
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
  choose_other_address: 'Choose another address.',
  address_letters:
    '{email} has letters before the @ that can look like others. Choose an address with letters from a to z, digits and signs only.',
  account_domain_deactivated: 'An admin has deactivated the domain of the account.',

  // keypairs and SSH keys
  keypair_deactivated: 'Activate the keypair, or use another one.',
  tokens_at_most: 'One person has at most {limit} access tokens. End some that are not used.',
  token_scope: 'The access token lacks the right "{scope}". Make one that has it on your page Account.',
  not_by_token: 'No access token may do this. Sign in yourself.',
  only_by_token: 'This address takes access tokens only. Make one on your page Account, or with `berth token create`.',
  no_dot_folder_by_token:
    'Folders whose names begin with a dot are in each session of their owner, so no access token uses them.',
  only_token_launched: 'An access token changes, enters and ends only sessions that it launched itself.',
  token_sessions:
    'The access token may have {limit, plural, one {# session} other {# sessions}} at once, waiting or running. End one first.',
  token_gpu_hours:
    'The sessions of the access token have taken its {limit} GPU hours, or keep them until their ends. End one of them, ask for fewer GPUs or a shorter lifetime, or make another token.',
  token_other_app:
    'An access token reaches web apps of sessions that it launched, or the one app that it was made for.',
  keypairs_at_most: 'One person has at most {limit} keypairs. Delete some that are not used.',
  keypair_used: 'Deactivate the keypair instead.',
  only_admin_chooses_keys: 'Only an admin can choose the keys. Leave them out, and random ones are made.',
  keypair_accepted_before: 'Activate it, or delete it and make another one.',
  keypair_waits: 'Accept it on your page Account, or with `berth keypair accept`: the answer has its secret key.',
  keypair_waits_for_owner: 'Only {email} can accept it.',
  only_owner_activates: 'Only its owner can activate a keypair. You may deactivate or delete it.',
  only_person_accepts:
    'Sign in yourself to make, accept or activate a keypair. A request or a sign-in with another keypair cannot.',
  only_person_decides:
    'Sign in yourself for this: it decides who gets into an account, or what somebody may do. A request or a sign-in with a keypair cannot.',
  prove_with_password: 'Send your password too, and the code if you have a second factor. Or sign in again first.',
  prove_by_sign_in: 'Your account has no password. Sign in again, and repeat this within 10 minutes.',
  only_superadmin_policy: 'Only a superadmin can set the resource policy.',
  only_superadmin_rate_limit: 'Only a superadmin can set the rate limit.',
  keypair_requests: 'This keypair may send {limit} requests in 15 minutes. Try again in {seconds} s.',
  access_key_or_signature: 'The access key or the signature is wrong.',
  signed_before_restore: 'The request was signed before the database was restored. Sign it again.',
  sign_separately: 'Sign every request separately.',
  clock_behind: "Your clock is {seconds} s behind the server's.",
  clock_ahead: "Your clock is {seconds} s ahead of the server's.",
  ssh_key_private: 'This is a private key. Send the content of the .pub file instead.',
  ssh_key_one_line: 'Send the key as one line.',
  ssh_key_types: 'The key must begin with one of {types}.',
  ssh_key_unreadable: 'The key cannot be read. Copy the whole line of the .pub file.',
  ssh_key_rsa_bits: 'An RSA key needs at least {bits} bits.',

  // rights
  mail_brings_link: 'Mail reaches this person. Make a link for a new password: it is mailed to the person alone.',
  own_password_before_factor:
    'Somebody else may know your password. Choose one with the link that we mail you first: sign out, and press "Forgot your password?" where you sign in.',
  only_superadmin_keeps_password:
    'A password that you choose is replaced at the first sign-in. Only a superadmin can let one stay, for accounts of programs.',
  only_admin: 'Only an admin may do this.',
  only_superadmin: 'Only a superadmin may do this.',
  only_superadmin_moves: 'Only a superadmin can move users to another domain.',
  only_superadmin_promotes: 'Only a superadmin can make superadmins.',
  only_members_connect: 'Only the owner of a session, and members whom the owner lets use it, can connect to it.',
  owner_decides: '{owner} shares the session with you, and decides about it.',
  only_admin_launches_for_others: 'Only an admin can launch for another user.',
  only_admin_project_folders: 'Only an admin makes folders for a project.',
  other_page: 'The request comes from another web page. Open the console at its own address.',
  only_console: 'Only the process of the console may do this.',
  own_account_elsewhere: 'For your own account, use {request}.',
} as const
