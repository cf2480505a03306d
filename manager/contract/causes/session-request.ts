/** Why a session is not launched, changed, shared or reached: see `CAUSES`. */
export const SESSION_REQUEST_CAUSES = {
  // sessions
  slurm_without_shares:
    'Slurm allocates whole GPUs only. Ask for whole GPUs, or choose another resource group than "{group}".',
  slurm_elsewhere:
    'Slurm does not run "{group}", so nothing can be chosen in Slurm there. Leave these settings out, or choose another resource group.',
  slurm_time_over: 'Sessions of "{group}" may choose a time limit of {minutes} minutes at most.',
  slurm_person_unknown:
    'Sessions of "{group}" are jobs of their owners in Slurm, and {email} has no user there. Ask an admin to add one, or choose another resource group.',
  slurm_person_doubtful:
    'Sessions of "{group}" are jobs of their owners in Slurm, and an admin of the domain may know the password of {email}. Press "Forgot your password?" where you sign in, ask a superadmin for a link, or choose another resource group.',
  slurm_not_offered: '"{group}" does not offer "{value}" for {setting}. Offered: {offered}.',
  slurm_offers_none: '"{group}" offers no choice of {setting}. Leave it out.',
  slurm_without_mig:
    'Slurm runs "{group}" and allocates whole GPUs only, so no MIG instances ({gpu}). Choose a model or a memory instead, or another resource group.',
  dependency_unknown: 'You have no session "{session}" to wait for.',
  extension_longest: 'The session already has the longest lifetime that its resource policy allows.',
  extension_of_slurm:
    'The time limit of its job in Slurm ends the session at {time}. Only an administrator of the cluster can raise it.',
  extension_promised: 'Another session waits for these resources, and was promised a start at the end of this session.',
  files_of_several: 'The session had several containers. Their files are not kept. Start a new session instead.',
  files_taken: 'Session "{session}" has taken over the files of this session.',
  files_taken_by_another: 'Another session has taken over the files of this session.',
  host_left:
    'The host that has the files does not belong to Berth or to this resource group any more. Start a new session instead.',
  image_unknown:
    'No host has an image named "{image}", and no registry that you may use offers it. The list of images shows the ones that you can launch.',
  name_too_long: '"{name}" is too long for a session name: 64 characters at most.',
  network_none_of_policy: 'Resource policy "{name}" allows sessions no network. Choose none, or ask an admin.',
  network_none_of_domain: 'Domain "{name}" allows sessions no network. Choose none, or ask an admin.',
  network_list_of_policy:
    'Resource policy "{name}" allows sessions these names only: {allowed}. Choose an allow list of them, or none.',
  network_list_of_domain:
    'Domain "{name}" allows sessions these names only: {allowed}. Choose an allow list of them, or none.',
  network_name_beyond_policy:
    'Resource policy "{name}" does not allow sessions the name {asked}. It allows: {allowed}.',
  network_name_beyond_domain: 'Domain "{name}" does not allow sessions the name {asked}. It allows: {allowed}.',
  never_ran: 'The session never ran, so it has no files. Start a new session instead.',
  no_project_no_members: 'The session belongs to no project, so it has no members.',
  not_shared_with: 'The session is not shared with this user.',
  only_members_download_key:
    'Only the owner of a session, and members whom the owner lets use it, can download its key.',
  command_forgotten: 'The session has no such command. Commands are forgotten ten minutes after their end.',
  command_protocol: 'The streams of a command need the subprotocol berth.tunnel.v1.',
  command_not_attached: 'This command was not started as attached, or it is connected already.',
  commands_of_person: 'You run {limit} commands at once on this host; more are not possible. Wait for one, or end one.',
  programs_wait_in_session:
    '{limit} programs wait for their start in this session; more are not possible. Wait until they have started, then try again.',
  only_members_run_commands:
    'Only the owner of a session, and members whom the owner lets use it, can run commands in it.',
  only_members_open_apps: 'Only the owner of a session, and members whom the owner lets use it, can open its apps.',
  only_owner_changes_folders: 'Only the owner of a session adds folders to it and takes them out.',
  only_owner_labels: 'Only the owner of a session can change its tags and its note.',
  only_owner_reads_output:
    'Only the owner of a session reads its log and its start-up command. {owner} may let administrators read them: Log on the page of the session, or `berth session log-access`.',
  only_owner_publishes: 'Only the owner of a session can publish its apps.',
  image_of_other:
    '{who} launched this session for you and chose its image, {image}, which you have never launched yourself. Take over what {who} chose (keepCommand), or launch a session with an image of your own choice.',
  batch_command_of_other:
    '{who} launched this batch session for you and chose its command. Start it again with that command (keepCommand), or launch a session with a command of your own.',
  only_owner_restarts: 'Only the owner of a session can start it again with its files.',
  image_of_running_session: 'An image is made of a running session. Start the session first.',
  only_owner_saves: 'Only the owner of a session can make an image of it.',
  session_image_name: 'Names of images of this session begin with {prefix}, such as {prefix}torch:2.',
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
  dot_folder_in_launched:
    '{who} launched this session for you and chose its command, which could read "{name}". Start the session again yourself: it then has your folders with a dot.',
  dot_folder_with_token:
    'An access token launched this session and chose its command, which could read "{name}". Start the session again yourself: it then has your folders with a dot.',
  session_used_by_others:
    'Others have used this session, so their programs may still run in it, and all of your sessions use "{name}". Launch another session for it, or add another folder.',
  dot_folders_left_out:
    'Others have used this session, so their programs may still run in it. It was started without what all of your sessions use: {names}.',
  session_mounts_dot_folder:
    'The session mounts your folder "{name}", which all of your sessions use. Others can view this session; to let them use one, launch it without the folders that are mounted by themselves.',
  session_named: 'You have a live session named "{name}". Choose another name.',
  session_shares_at_most: 'The session is shared with {count} members; more are not possible.',
  sessions_shared_at_most:
    'You share {limit} live sessions with {email}; more are not possible. Stop sharing one of them first, or end one.',
  image_defaults_at_most:
    'You have defaults for {limit} images; more are not possible. Remove those of another image first.',
  image_defaults_unknown: 'You have no defaults for the image "{image}".',
  template_unknown: 'You have no template "{name}".',
  templates_at_most: 'You have {count} templates; {limit} are allowed. Delete one first.',
  too_many_containers:
    'The request has {containers} containers; resource policy "{policy}" allows {limit} in one session. Ask for fewer.',
  user_unknown_to_launch: 'There is no user "{user}" that you can launch for.',
  yours_already: 'The session is yours already.',
  kernel_unknown: 'The session has no kernel "{kernel}".',
  session_terminated: 'The session was terminated.',
  page_end_deleted: 'The session at which the last page ended was deleted meanwhile. Begin with the first page again.',
  only_admin_forces_end: 'Only an admin can end a session without waiting for its agent.',
  start_time_passed: 'The start time has passed.',
  start_time_within: 'The start time must be within {days} days.',
  extension_until: 'The resource policy of the session allows it to run until {time} at the latest.',
  session_named_one_of: 'You have live sessions with some of these names: {names}. Choose another name.',
  start_cancelled: 'The start was cancelled.',
  attempt_failed: 'This attempt has failed.',

  // limits and projects
  group_without_access: 'You have no access to a resource group "{group}".',
  group_without_access_in_project:
    'You have no access to a resource group "{group}" in this project. An admin can grant access.',
  limit_of_user:
    'The request needs {needed}; resource policy "{policy}" gives each user at most {limit} in total. Ask for less.',
  limit_of_keypair:
    'The request needs {needed}; resource policy "{policy}" gives each keypair at most {limit} in total. Ask for less.',
  model_limit_of_user:
    'The request needs {needed}; resource policy "{policy}" gives each user at most {limit} GPU "{model}" in total. Choose another GPU or fewer.',
  model_limit_of_keypair:
    'The request needs {needed}; resource policy "{policy}" gives each keypair at most {limit} GPU "{model}" in total. Choose another GPU or fewer.',
  model_limit_of_project:
    'The request needs {needed}; project "{project}" may hold at most {limit} GPU "{model}" in total. Choose another GPU or fewer.',
  model_limit_of_domain:
    'The request needs {needed}; domain "{domain}" may hold at most {limit} GPU "{model}" in total. Choose another GPU or fewer.',
  limit_of_project: 'The request needs {needed}; project "{project}" may hold at most {limit} in total. Ask for less.',
  limit_of_domain: 'The request needs {needed}; domain "{domain}" may hold at most {limit} in total. Ask for less.',
  member_of_no_project: 'You are not a member of any project. Ask an admin to add you.',
  choose_project: 'Choose one of yours: {projects}.',
  no_project_of_admin: 'You administer no project "{project}".',
  project_in_several_domains: 'Several domains have a project "{project}". Name it by its id.',
  not_member_of_project: 'You are not a member of a project "{project}". Your projects: {projects}.',
  gpu_chosen_without_gpu: 'The request chooses a GPU ({gpu}) and asks for none. Ask for GPUs or a share of one.',
  no_host_has_any: 'The request needs {needed}; no host has any. Ask for less.',
  host_offers_at_most: 'The request needs {needed}; one host offers at most {largest}. Ask for less.',
  host_offers_beside_the_rest:
    'The request needs {needed}; one host offers at most {largest} together with the rest of the request. Ask for less.',

  // apps and connections
  app_connections_at_most:
    'All {count} connections to the app are in use, by event streams for example. Close other pages of the app, or try again in a moment.',
  app_refuses: 'The app does not accept connections.',
  app_silent: 'The app did not accept the connection in time.',
  app_unknown: 'The image of the session offers no app "{app}" that can be opened.',
  grant_for_another: 'The access is for another session or app. Open the app again.',
  grant_over: 'The access has expired or was withdrawn. Open the app again.',
  host_silent: 'The host of this session did not open a connection in time. Try again.',
  host_without_session: 'The host does not run this session.',
  apps_without_address:
    'An administrator sets console.appsAddress in berth.toml (BERTH_APPS_ADDRESS). Until then, use the desktop app or the berth command.',
  browser_needs_sign_in: 'Browsers enter with a sign-in. Sign in with berth login instead of a keypair.',
  link_hours: 'A link may last at most {hours, plural, one {# hour} other {# hours}} here.',
  waiting_at_most: 'At most {limit} sessions of one person wait. Wait until some have started, or cancel some.',
  links_at_most: 'You may have at most {count}. End others first.',
  not_an_address: '"{text}" is neither an address nor a range of addresses.',
  only_web_apps: 'Only web apps open at an address of their own, and {app} is not one.',
  ports_taken:
    'Every port of the range has an app. End a session or a link that is not needed, or ask an administrator for a wider range.',
  ports_at_most:
    'You have {count} apps open at ports, as many as one person may have. End a session or a link that you do not need; an app that no browser has used for a quarter of an hour gives its port back.',
  ports_resting:
    'Every free port had an app of somebody else within the last day, and over http browsers cannot forget that app. Try again later, or ask an administrator for https or a wider range.',
  publishing_off: 'The administrators have not allowed it.',
  sign_in_ended_app: 'The sign-in ended while the app was starting. Sign in again.',
  connections_of_person:
    'You have {limit} connections to sessions open, as many as one person may have. Close some connections, then try again.',
  connections_of_app:
    'You have {limit} connections to "{app}" of this session open, as many as one person may have. Close some of them, then try again.',
  terminals_of_person:
    'You have {limit} terminals of sessions open, as many as one person may have. Close some of them, then try again.',
  visitors_of_owner:
    'The links of this owner have {limit} connections open, as many as they may have. Try again when some people have left.',
  connections_of_all:
    'Nearly all of the {limit} connections to sessions that this server can have are open. Close some that you do not need, then try again. If that happens often, an administrator has to raise the limit of open files of the server.',
  too_many_waiting: 'Too many connections are waiting already. Try again in a moment.',
  tunnel_closed: 'The tunnel was closed.',
  tunnel_reopened: 'The tunnel was closed in the meantime. Open it again.',
  terminal_name: 'The name of a terminal may have a-z, 0-9 and "-".',
  terminal_size: 'A terminal must have 1 to 1000 columns and rows.',
} as const
