/** Causes that only administrators see: see `CAUSES`. */
export const ADMINISTRATION_CAUSES = {
  mig_on_host: 'Use nvidia-smi on the host to change MIG instances; the agent finds the new instances by itself.',
  device_used_by: 'In use by {sessions}. Wait for these sessions to end, or end them.',
  agent_used_by: '{agent} runs {sessions}. Start no new sessions on it, and wait for these to end, or end them.',
  agent_has_files:
    '{agent} has the files with which {sessions} will continue. Wait for these sessions to end, or end them.',
  one_holder_of_limits: 'Name a resource policy, a project or a domain: one of them.',
  webhook_needs_https:
    'The address needs https. A superadmin can allow addresses with http: berth admin settings set webhookHttp=true.',
  webhook_private:
    '{host} is a private address. A superadmin can allow it: berth admin settings set webhookHosts={host}.',
  webhook_of_project: 'Name a project. Webhooks of the whole installation are for superadmins.',
  webhook_event_of_installation: 'The event {event} is for webhooks of the whole installation only.',
  webhooks_at_most: 'There can be {limit} of them for one project, and as many for the installation. Delete one first.',
  webhook_switch_on: 'Switch it on first.',
  join_string_gone: 'This join string was used or removed. Make another one.',
  address_not_encrypted:
    '{url} is not encrypted, so hosts refuse it. Set manager.advertiseUrl to an address with https.',
  host_line_over:
    'The line is older than fifteen minutes or was withdrawn, or its maker is no administrator any more or has signed out. Make a new line.',
  host_bundle_gone: 'The manager was started anew. Run the line again.',
  host_bundle_not_made:
    'The manager could not pack the program for hosts; its log says why. Hosts can be added with the package berth-server meanwhile.',
  host_downloads: 'At most {limit} hosts fetch the program at a time. Try again in a minute.',
  container_without_owner:
    'The container belongs to {owner}, and Berth has no account that may have it. Make the account again: the container becomes its session when the person has chosen a password that nobody else knows. Or remove the container.',
  container_not_waiting:
    'No such container on this host waits for a decision. "berth admin agent unknown ls" lists them.',
  starter_left: 'The person who started this is no superadmin any more.',
  export_lost: 'The account was changed while the export ran. Start the export again.',
  image_unknown_here: 'No agent or registry has an image "{image}".',
  alias_is_image: 'There is an image "{image}". Choose another alias.',
  alias_taken: '"{alias}" stands for "{image}". Remove that alias first, or choose another one.',
  agents_or_group: 'Name agents or a resource group, not both.',
  no_agents_yet: 'No agent has joined yet.',
  no_agents_in_group: 'No agent has joined resource group "{group}" yet.',
  mail_settings_first: 'Set smtpHost and smtpFrom first, and the password if the mail server needs one.',
  mail_server_without_starttls:
    '{server} does not offer STARTTLS: set smtpSecurity to tls (mostly port 465) or none. It says: {text}',
  mail_server_says: '{server}: {text}',
  default_policy_stays: 'New users and keypairs get the policy "{policy}", so it must stay.',
  policy_used: 'Users or keypairs still have "{policy}". Give them another policy first.',
  policy_unknown: 'There is no resource policy "{policy}".',
  preset_unknown: 'There is no preset "{preset}".',
  preset_needs_both: 'A preset needs both CPU and RAM.',
  shmem_within_mem: 'Shared memory is part of the RAM (mem), so it cannot be larger.',
  engine_with_live_sessions:
    '{count, plural, one {# session} other {# sessions}} of this resource group still {count, plural, one {waits or runs} other {wait or run}}. The engine changes only without live sessions.',
  default_group_stays: 'Requests that name no resource group use this one, so it must stay.',
  agents_still_in_it:
    '{count, plural, one {# agent is} other {# agents are}} still in it ({agents}): move them to another group, or forget them.',
  token_server_strange: 'The registry names a token server to which Berth does not send the password.',
  token_server_no_token: 'The token server of the registry answered {status} without a token.',
  registry_password_refused: 'The registry does not accept the password of {user}, or that user has no access.',
  registry_password_needed: 'The registry needs a user name and a password.',
  docker_hub_did_not_list: 'Docker Hub did not list {namespace} (HTTP {status}). Check the name.',
  address_not_connected: 'Berth does not connect to {host}.',
  redirect_not_followed: '{host} redirects to an address that Berth does not follow.',
  server_not_in_time: '{server} did not answer in time.',
  server_says: '{server}: {text}',
  answer_too_long: 'The answer is longer than {bytes} bytes.',
  registry_rate_limit: 'The registry accepts no more requests for now: its rate limit is used up. Try again later.',
  server_not_available: '{server} is not available (HTTP {status}).',
  registry_list_too_long: 'The list that the registry sends is too long.',
  registry_list_circle: "The pages of the registry's list form a circle, or lead to another server.",
  not_a_registry: 'The address does not answer as a registry: HTTP {status} at /v2/.',
  registry_answer_unreadable: 'The {what} of the registry cannot be read (HTTP {status}).',
  registry_not_active: 'The registry is not active. Activate it first.',
  registry_unknown: 'There is no registry "{registry}".',
  user_and_password: 'Give both a user name and a password, or neither.',
  docker_hub_no_catalogue: 'Docker Hub offers no catalogue. Set the name spaces or repositories to scan (projects).',
  registry_no_catalogue: 'The registry does not show its catalogue. Set the repositories to scan (projects).',
  registry_address_form: 'The address must be only scheme, host and port, such as https://cr.example.org:5000.',
  registry_name_is_host: 'The name of a registry must be the host of its address: {expected}, not {host}.',
  registry_link_local:
    'A registry cannot have a link-local address, or another one at which clouds hand out credentials.',
  registry_in_clear:
    'http:// sends images and the password unencrypted over the network. Use https://, or say that you know (allowHttp).',
  choose_other_id: 'Choose another id.',
  domain_without_project: 'The domain "{domain}" has no project "{project}".',
  name_taken: 'The name "{name}" is taken. Choose another one.',
  own_domain_stays: 'You cannot deactivate your own domain.',
  default_domain_stays: 'New users get this domain when no other is named, so it must stay.',
  domain_has_users:
    'The domain has {count, plural, one {# user} other {# users}}. Move them to another domain, inactive users too.',
  domain_has_projects:
    'The domain has {count, plural, one {# project} other {# projects}} besides "{usual}". Delete them first.',
  domain_of_sign_up: 'People who sign up get this domain. Set `signUpDomain` to another one first.',
  default_project_stays: 'New users join this project. It is deleted together with its domain.',
  domain_has_project: 'Domain "{domain}" already has a project "{project}". Choose another name.',
  sessions_not_ended:
    '{count, plural, one {# session has not ended. End it first.} other {# sessions have not ended. End them first.}}',
  projects_own_folders:
    'Projects own {count, plural, one {# folder} other {# folders}}. Delete them first, also from the trash.',
  folders_being_deleted:
    'The files of {count, plural, one {# folder} other {# folders}} are still being deleted. Try again later.',
  still_members: '{count, plural, one {# member is} other {# members are}} still there.',
  still_invitations: '{count, plural, one {# open invitation is} other {# open invitations are}} still there.',
  still_records:
    '{count, plural, one {# record of an ended session is} other {# records of ended sessions are}} still there.',
  purge_deletes: 'To delete these too, deactivate "{name}" first, then delete it with "purge".',
  purge_of_active: '"{name}" is active. Deactivate it before the purge.',
  account_not_active: 'The account {email} is not active. Activate it first.',
  address_confirmed: 'The address {email} is already confirmed.',
  only_superadmin_invites: 'Only a superadmin can invite people to another domain.',
  invitation_used: 'The invitation is unknown, or was already used.',
  sign_up_request_gone: 'Another admin may have decided about the request, or it has expired.',
  no_second_factor_of: '{email} has no second factor.',
  other_superadmin_first: 'Make somebody else, who has a password, a superadmin first.',
  import_column: '{column}: {text}.',
  no_first_admin: 'There is no {email}.',
  agent_unknown: 'There is no agent {agent}.',
  pull_failed_on: '{failed} of {all} agents could not pull the image.',
  registry_address_scheme: 'The address must start with https:// (or http://).',
  manager_not_running: 'There is no such manager any more. "berth admin manager ls" lists those that run.',
  manager_silent: 'The manager did not answer in time, or it ended.',
  doctor_no_result: 'berth doctor gave no result.',
  minimum_below_label:
    "The minimum of {slots} is now below the value in the image's labels: sessions may fail to start or to work.",
  invitation_while_closed:
    'Sign-up is closed, also with an invitation, until a superadmin sets allowSignUp to "invitation".',
  managers_of_versions: 'Managers of different versions use this database: {managers}. Bring all to one version.',
  manager_ahead_of_database:
    'The clock of {manager} is {seconds} s ahead of that of the database. Synchronise both with a time server.',
  manager_behind_database:
    'The clock of {manager} is {seconds} s behind that of the database. Synchronise both with a time server.',
  agents_not_dialling: '{count} of {all} agents cannot dial {manager}.',
  agents_through_another: '{count, plural, one {# agent connects} other {# agents connect}} through another manager.',
  agents_without_connection: '{count, plural, one {# agent is} other {# agents are}} not connected to it.',
  check_advertised_address: 'Check BERTH_ADVERTISE_URL of that manager, its certificate, and the firewalls in between.',
  database_clock_forward:
    'The clock of the database jumped forward by {time}: it was set, or its computer slept. Synchronise it with a time server.',
  database_clock_back:
    'The clock of the database jumped back by {time}: it was set, or its computer slept. Synchronise it with a time server.',
  resources_of_ended_session:
    'Session {session} is not running, but still held resources. The resources were released.',
  record_of_other_amounts:
    'Session {session} was recorded with other amounts or devices than its container has. The record was corrected.',
  recorded_container_gone:
    'Session {session} was recorded as running on agent {agent}, but its container is gone. The record was corrected.',
  recorded_container_ended:
    'Session {session} was recorded as running on agent {agent}, but its container has ended. The record was corrected.',
  container_imported:
    'A container of session {session} ran on agent {agent} without a record. The session was imported.',
  container_orphaned:
    'A container ran on agent {agent} although its session has ended, runs elsewhere, or has no such container. The container is being removed.',
  invitation_domain_inactive: 'Domain "{domain}" is inactive. The link works once the domain is active again.',
  cert_key_of_other: 'The key in {key} does not belong to the certificate in {cert}. Give both of one order.',
  cert_ended: 'The certificate in {cert} ended on {time}. Renew it, and replace both files.',
  cert_not_yet:
    'The certificate in {cert} is valid from {time} only. Check the clock of this computer, or give another certificate.',
  cert_no_pem:
    '{file} has no certificate in PEM form ("-----BEGIN CERTIFICATE-----"). Convert it: openssl x509 -inform DER -in FILE.',
  cert_damaged: 'A certificate in {file} is damaged. Copy the file again.',
  cert_key_encrypted:
    'The key in {file} is encrypted, and Berth starts without anybody who could type its password. Write it without one, into a file of mode 0600: openssl pkey -in FILE -out NEW-FILE.',
  cert_no_key: '{file} has no private key in PEM form ("-----BEGIN PRIVATE KEY-----").',
  cert_key_open: 'Others can read the key in {file}. Run: chmod 600 {file}',
  cert_file_unreadable: '{file} cannot be read ({errno}). Is the path right, and may the user of Berth read it?',
  cert_not_issued_http:
    '{authority} did not issue a certificate for {names}: {text}. The authority must reach port 80 of these names; console.tls.httpPort listens there. Berth tries again by itself.',
  cert_not_issued_dns:
    '{authority} did not issue a certificate for {names}: {text}. Check what {program} does. Berth tries again by itself.',

  // people by SCIM, and their directories
  scim_tokens_at_most: 'A domain has at most {limit} SCIM tokens. End one that is not used.',
  directory_address: 'Berth does not connect to {host}: addresses of this kind give out credentials of the machine.',
  directory_away: '{host} does not accept a connection ({reason}). Check address, port and firewalls.',
  directory_base: 'The directory shows no entry "{base}" (LDAP result {code}). Check base, and the rights of bindDn.',
  directory_bind: 'The directory refuses "{account}" (LDAP result {code}). Check bindDn and its password.',
  directory_broken: 'The connection to the directory ended. Try again; the log of the manager has the cause.',
  directory_busy: 'The directory is busy. Try again in a moment.',
  directory_filter: 'The filter "{filter}" cannot be read. Each part needs its parentheses, as in (uid=ada).',
  directory_groups: 'Groups below "{base}" cannot be searched (LDAP result {code}). Check groupBase and groupFilter.',
  directory_name: 'No address was found for {host}. Check the name, and the name servers of the manager.',
  directory_needs_account: 'This needs an account that searches: set bindDn and its password.',
  directory_needs_tls:
    'Passwords would cross the network unencrypted. Use ldaps:// addresses, or switch on startTls. Plain ldap:// works on this computer only.',
  directory_no_id: 'The entry of the person has no attribute "{attribute}". Check idAttribute.',
  directory_no_person: 'Nobody below "{base}" matches {filter} with the name "{username}".',
  directory_one_bind: 'Set either bindDn with its password, or directBind.',
  directory_search: 'People below "{base}" cannot be searched (LDAP result {code}). Check base and userFilter.',
  directory_several: 'Several people match {filter}. Nobody is signed in until it matches one.',
  directory_slow: '{host} does not answer in time. Check address, port and firewalls.',
  directory_starttls: '{host} does not offer StartTLS. Use an ldaps:// address, or set up TLS at the server.',
  directory_template: '{setting} needs {place} where the name of the person belongs.',
  directory_tls:
    'The certificate of {host} is not accepted ({reason}). Check name and date of the certificate, and caCertificates.',
  provider_needs: 'A provider of this kind needs these settings: {names}.',
  provider_takes_not: 'A provider of this kind does not have these settings: {names}.',
} as const
