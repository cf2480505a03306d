/** Causes that programs on a user's computer report, the local proxy and the desktop app: see `CAUSES`. */
export const LOCAL_CAUSES = {
  // servers
  berth_away: '{server} does not answer. Is the address right, and is Berth running there?',
  listener_of_other_user:
    'A program of the user {user} listens at {server}. Berth ran as another user there when you signed in, so your sign-in was not sent. If that program is Berth, sign in again: with berth login, or in the desktop app by choosing the server again. If not, somebody else has taken the port while Berth was stopped: tell the administrator. An address with https:// prevents this.',
  certificate_untrusted:
    "The certificate of the server is not trusted: {text}. Add its certificate authority to this system, choose the authority's file in the desktop app, or name it in NODE_EXTRA_CA_CERTS for the command line.",
  no_user_entry:
    'The user id {uid} has no entry in the list of users of this computer (/etc/passwd), which PostgreSQL needs. Start Berth as a user that has one, add one for this id, or name a PostgreSQL of your own in DATABASE_URL.',
  no_home_directory:
    'The user id {uid} has no home directory. Set HOME to a directory that belongs to it, or name the data directory by --data or BERTH_DATA and that of the sign-in by BERTH_CONFIG_DIR.',
  no_certificates_in: 'There is no certificate of an authority (PEM) in {file}.',

  // programs of this computer
  program_not_found: 'This program was not found on this computer.',
  program_needs_ssh_config:
    'This program finds the session only by your SSH configuration. Switch that on in the preferences.',
  program_not_started: '{program} did not start: {text}',
  drive_not_made: 'The files of the session could not be mounted: {text}',
  drive_no_letter: 'All letters for drives are taken.',

  // tunnels
  not_reached_in_time: 'The session could not be reached in time.',
  not_reached_in_time_because: 'The session could not be reached in time. {text}',
  ended_while_opening: 'The session ended while its tunnel was being opened.',
  program_closing: 'The program is closing its connections.',
  manager_silent_for: 'The manager did not answer within {seconds} s.',
  manager_opened_no_tunnel: 'The manager answered HTTP {status} instead of opening the tunnel.',
  not_a_manager_there: "The server at the manager's address is not a manager: {text}.",
  header_line_break: 'The header {name} holds a line break.',
  program_address:
    'An app for programs is at /apps/SESSION/APP/ with the id of the session, such as /apps/…/http-8000/.',
  program_in_browser:
    'This address is for programs. In a browser, open the app from the console. A program sends no Origin and no Sec-Fetch-Site.',
  program_token:
    'Send an access token with the right "apps": Authorization: Bearer TOKEN, or Berth-Authorization if the app has an Authorization of its own.',
  no_web_app: '{app} is not a web app. Open its port instead.',
  header_not_added: 'The agent asks for a request header that Berth does not add.',
  port_of_tunnel:
    'Port {port} is taken by the {app} tunnel of session "{session}". Choose another port, for example {offered}, or use a random one.',
  port_of_program:
    'Port {port} is taken by {program} (process {pid}). Choose another port, for example {offered}, or use a random one.',
  port_of_berth:
    'Port {port} is taken by Berth itself. Choose another port, for example {offered}, or use a random one.',
  port_of_unknown_program:
    'Port {port} is taken by a program (process {pid}). Choose another port, for example {offered}, or use a random one.',
  port_of_nobody_known:
    'Port {port} is taken by another program. Choose another port, for example {offered}, or use a random one.',
  port_taken_on: 'Port {port} on {host} is taken.',
  console_port_taken:
    'Port {port} is taken by {program} (process {pid}). End that program, or use "{command}", which takes any free port.',
  console_port_taken_by_nobody_known:
    'Port {port} is taken by another program. End that program, or use "{command}", which takes any free port.',
  port_reserved: 'The system lets only some programs listen at port {port} on {host}. Choose a port from 1024 up.',
  tunnels_at_most:
    'At most {limit} tunnels of one user may be open at a time. Close one under "Open on this computer" in the dialog of the apps, then open this one again.',
  app_open_elsewhere:
    'The app is open on port {port} with {connections, plural, one {# open connection} other {# open connections}}. Close these first.',
  session_not_yet_running: 'The session is {status}. Wait until it is RUNNING.',
  folders_open_elsewhere:
    'The folders are open on port {port} with {connections, plural, one {# open connection} other {# open connections}}. Close these first.',
  ssh_data_unsafe: 'The manager sent SSH data that is not safe to use.',
  ssh_key_damaged: 'The private key cannot be read: {text}.',
  only_desktop_app: 'Only the desktop app has this.',

  // updates
  updates_away: '{host} does not answer, so nobody knows of updates.',
  updates_no_list: '{host} has no list of updates (HTTP {status}).',
  updates_list_long: 'The list of updates is too long.',
  updates_list_damaged: 'The list of updates is not used: it is damaged.',
  updates_list_unsigned: 'The list of updates is not used: it is not signed by the makers of this Berth.',
  updates_list_newer: 'The list of updates is not used: this Berth does not understand it.',
  updates_key_foreign:
    'The list of updates is not used: its signing key was not handed over by the makers of this Berth.',
  updates_key_damaged: 'The list of updates is not used: a handover of its key is damaged.',
  updates_key_replaced:
    'The list of updates is not used: it is signed by a key that the makers of this Berth have replaced.',
  updates_list_older: 'The list of updates is older than one that was seen before. It is not used.',
  updates_list_expired: 'The list of updates has expired ({time}). It is not used; newer versions may be there.',
  update_not_downloaded: '{file} could not be downloaded.',
  update_not_signed: '{file} is not the file that was signed. It was removed.',
  update_longer: 'The download is longer than signed. It was removed.',
} as const
