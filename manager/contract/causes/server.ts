/** Causes about the servers and the network between them, and about the form of requests: see `CAUSES`. */
export const SERVER_CAUSES = {
  // local proxy
  browser_elsewhere:
    'This browser runs on another computer than Berth. Use the desktop app or the berth command on your computer.',
  browser_unproven:
    'Berth does not know that this browser runs on its computer. Prove it with the command that "This computer" shows. The desktop app and the berth command need no proof.',
  browser_other_account:
    'SSH files would be written for the account that runs Berth, which is not yours. Use "berth ssh" or the desktop app; apps and ports open from this browser.',
  browser_user_hidden:
    'Berth cannot tell which user of this computer started this browser. Try again. Behind a proxy or a forwarded port, use the link that "berth up" prints, or the desktop app.',

  // settings
  announcement_ends_first: 'The announcement must end after it begins.',
  not_fair_share: 'Resource group "{group}" has the sequencer {sequencer}: there are shares with drf only.',
  no_apps_address:
    'Published apps need an address. Set console.appsAddress in berth.toml (BERTH_APPS_ADDRESS), and start Berth again.',
  compat_port_taken: 'Port {port} cannot be opened on this computer. Choose another one.',
  smtp_password_in_clear:
    'The password for {host} would be sent unencrypted. Set smtpSecurity to tls or starttls, or smtpUser to null.',

  // clients of Backend.AI
  compat_needs_tls:
    'Clients of Backend.AI are answered over https only, except from the computer of Berth itself, because their signatures do not cover what a request contains. Use the https address that your administrator names.',
  compat_needs_known_proxy:
    'A proxy forwarded this request that Berth does not trust to say whether it came over https. An administrator has to name the address of the proxy in BERTH_BACKEND_AI_PROXIES, and the proxy has to send X-Forwarded-Proto.',

  // the server
  backup_directory_refused:
    'The directory {directory} cannot be used ({errno}). It must belong to the user of the manager.',
  backup_disk_full: 'The disk of {directory} has too little free space for a backup.',
  backup_interrupted: 'The manager that made the backup has stopped.',
  answers_unread:
    'More than {limit} MiB of your answers have not been read yet. Read them or close their connections, then try again.',
  calls_of_person:
    'You have {limit} calls in progress, as many as one person may have. Wait until some of them have ended, then try again.',
  lasting_calls_of_person:
    'You have {limit} uploads and starts of apps in progress, as many as one person may have. Wait until some of them have ended, then try again.',
  calls_waiting:
    'Too many calls of this sign-in, or of this network, are in progress. End some of them or wait for their answers, then try again.',
  certificate_changed:
    'The certificate of {server} is not the one that you trusted, so somebody else may answer there. Known: SHA-256 {known}. Now: SHA-256 {now}. Ask the administrator of the server. If the new one is right, compare and trust it in the desktop app, or sign in again with --fingerprint.',
  database_busy: 'The database has more to do than it can answer in time. Try again in a moment.',
  database_away: 'The database does not answer. Try again in a moment.',
  database_pooled:
    'DATABASE_URL leads to a pooler that gives the sessions of the database to other clients after each transaction (PgBouncer: pool_mode = transaction). Berth needs sessions of its own: set the mode to session, or name the database itself.',
  database_read_only:
    'The database of DATABASE_URL takes no writes, as a standby does. Name the primary, all servers (postgresql://one:5432,two:5432/database), or a proxy in front of them that follows the primary.',
  database_no_primary:
    'None of the servers of DATABASE_URL takes writes: those that answer are standbys. Nothing can be changed until an administrator, or what watches the servers, promotes one.',
  database_old_primary:
    'The server of DATABASE_URL that takes writes is an old primary, from before the last promotion. Stop it, and let it follow the new one (pg_rewind). After a restore of an older copy, start the managers again.',
  database_standby_silent:
    'The database waits for its synchronous standby, which does not answer. Nothing can be changed until the standby answers or an administrator takes it out.',
  database_url_invalid:
    'DATABASE_URL must look like postgresql://user:password@host/database, with several servers as host:port,host:port, and target_session_attrs, if it is there, read-write or primary.',
  database_disk_full: 'The disk of the database is full. An administrator has to free space on it.',
  manager_busy:
    'The server has more to do than it can answer in time. Try again in a moment. If it stays so, an administrator has to give its computer more processor time, or add a manager.',
  manager_away: 'The server does not answer.',
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
  request_too_long: 'The limit is {limit}.',
  many_json_parts: 'The body has more than {limit, number} members, objects and lists. Send several smaller requests.',

  // requests
  cursor_wrong: 'The cursor is not valid. Use the one that the last page of the list returned.',
  resource_group_unknown: 'There is no resource group "{group}".',
  domain_unknown: 'There is no domain "{domain}".',
  task_cancelled: 'The task was cancelled.',
  task_stopped: 'The manager that ran the task has stopped. Start the task again.',
  session_saves_already: 'This session is being saved as {reference}. Wait until that has ended, or cancel it.',
  task_just_ending: 'The same work is just ending. Try again in a moment.',
  from_before_to: '"from" must be before "to".',
  periods_at_most: 'At most {limit} periods can be asked for at once.',
  days_at_most: 'At most {limit} days can be asked for at once.',
  try_again: 'Try again.',
  address_silent: '{address} does not answer.',
  idempotency_key_new: 'Use a new key for every new request.',
  streams_at_most:
    'This sign-in has {limit} event streams open, as many as one may have. Close some pages or programs that use it, then try again.',
  streams_of_person:
    'You have {limit} event streams open, as many as one person may have. Close some pages or programs, then try again.',
  field_wrong: '{field}: {text}',
  fields_wrong: '{field}: {text} (and {count} more)',
  request_form: 'The request does not have the right form.',
  not_a_manager: 'The server at {where} is not a Berth manager. Check the address.',
  http_status: 'HTTP {status}',

  // agents and managers
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
  agent_connections: 'This agent has too many connections.',
  manager_gone: 'The named manager does not exist, or is not running any more.',
} as const
