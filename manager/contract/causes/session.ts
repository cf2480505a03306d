/** Why sessions wait, are tried again or have ended, if the sentence of the reason's code is not enough: see `CAUSES`. */
export const SESSION_CAUSES = {
  image_right_withdrawn:
    'The domain of this session may not use the image {image} any more. Ask an admin, or launch a session with another image.',
  launcher_left:
    '{who} launched this session for its owner, and does not manage the account of the owner any more. Cancel it, and launch a session of your own.',
  token_ended:
    'The access token that launched this session has ended, so the session does not start. Its owner may start it again.',
  owner_left:
    'The owner of this session is not a member of its project any more. Ask an admin of the project, or launch the session in another project.',
  owner_moved:
    'The owner of this session was moved to another domain since the request. Launch the session again: it then counts in the new domain.',
  start_failed_on: 'Starting on host {host} failed:',
  trying_again: 'Trying again.',
  process_ended: 'The main process ended with exit code {exitCode}.',
  after_memory_kill:
    'Shortly before, one of its programs was ended because the session had used up its RAM. Launch the session with more RAM.',
  ran_out_of_memory: 'The container ran out of memory and was stopped. Launch the session with more RAM.',
  container_ended: 'Container {container} ended, and the session with it.',
  docker_is_busy: 'Starting soon: Docker on {host} is busy.',
  starts_after_others:
    'Starting soon: {count, plural, one {# session is} other {# sessions are}} being started on {host} before it.',
  ended_by: 'Ended by {who}.',
  ended_by_because: 'Ended by {who}: {why}',
  host_removed: 'An admin removed host {host} from Berth, so its sessions ended here.',
  start_too_long: 'The start took too long.',
  host_not_ready_in_time: 'The host was not ready to start the session in time.',
  container_late: 'The host did not start the container in time.',
  image_late: 'The image could not be pulled in time.',
  was_starting_at_backup: 'The session was starting when the backup was made.',
  idle_time_again: 'The idle time starts again from now.',
  program_out_of_memory: 'A program was ended: the session had used its {limit} of RAM.',
  folder_now_at: 'Folder "{name}" is at {path} now.',
  folder_out_of: 'Folder "{name}" is not at {path} any more.',
  folder_not_mounted_again: 'Folder "{name}" could not be mounted at {path} again.',
  log_not_kept: 'The host does not keep this part of the log any more. Read the log again from its beginning.',
  may_run_until: 'The session may run until {time}.',
  placed_on: 'Placed on host {host}.',
  host_left_private_network:
    'The host takes no part in sessions over several hosts now: its address in the private network is not set, or its firewall does not keep others out.',
  placed_on_hosts: 'Placed on the hosts {hosts}.',
  slurm_asked: 'Slurm was asked for the resources.',
  slurm_decides: 'Slurm decides when the session starts.',
  slurm_resources: 'Waits in Slurm until enough resources are free.',
  slurm_priority: 'Waits in Slurm: other jobs go first.',
  slurm_held: 'Held in Slurm: an administrator of the cluster has to release it.',
  slurm_limit: 'Waits in Slurm: a limit is reached ({reason}).',
  slurm_never: 'Slurm does not start this session: it exceeds a limit of the queue ({reason}). Ask an admin.',
  slurm_no_node: 'Waits in Slurm: the nodes that it needs are not available ({reason}).',
  slurm_waits: 'Waits in Slurm ({reason}).',
  slurm_estimate: 'Estimated start: {time}.',
  slurm_confirming: 'Slurm has granted the resources; the session starts in a few seconds.',
  slurm_refused: 'Slurm refused the request: {words}',
  slurm_asked_again: 'The request to Slurm was lost, so the session has lost its place in the queue. Asking again.',
  slurm_away: 'Slurm has not answered since {time}. Nothing starts or ends because of that.',
  slurm_node_unknown: 'Slurm granted node {node}, but no connected host of this resource group has this name.',
  slurm_nodes_other:
    'Slurm granted other nodes than requested: {nodes}. The session needs {needed, plural, one {one host} other {# different hosts}}.',
  slurm_hosts_apart:
    'Slurm gives each of the {needed} containers a host of its own, and {count, plural, one {only one host has} other {only # hosts have}} an address in a private network between hosts. Ask the administrator to set it, or ask for fewer containers.',
  slurm_gpus_unknown: 'Slurm granted GPUs of node {node} that do not match whole GPUs of the host.',
  slurm_gpus_fewer: 'Slurm granted fewer GPUs of node {node} than requested. Asking again.',
  slurm_gpus_other: 'Slurm granted GPUs of node {node} that are not those chosen ({gpu}). Asking again.',
  slurm_gpus_nowhere:
    'No node of this resource group has just the GPUs chosen ({gpu}), or Slurm does not tell them apart. Choose others, or ask an admin.',
  slurm_host_full: 'Slurm granted node {node}, but the host still holds what it granted.',
  slurm_host_unable:
    'Slurm granted node {node}, but its host takes no sessions now, or cannot run this one: image, architecture, storage or isolation.',
  slurm_hosts_unable:
    'The session needs {needed, plural, one {a host} other {# hosts}} of this resource group with its image, architecture, storage and isolation; {count, plural, one {one has} other {# have}} all of it now.',
  slurm_cancelled: "The session's job was cancelled in Slurm.",
  slurm_timeout: 'The session has reached the time limit of its job in Slurm.',
  slurm_preempted: 'Slurm needs the resources for a job that goes first.',
  slurm_requeued: "Slurm has taken the session's resources away, and queued its job again.",
  slurm_continues:
    'Interrupted: Slurm needs the resources for a job that goes first. It keeps its files, and continues on another allocation.',
  makes_room_in_slurm_at:
    'Makes room at {time} for a job that goes first in Slurm, and continues later with its files.',
  slurm_keeps: 'Slurm does not need the resources for another job any more.',
  slurm_out_of_memory: "The session's job has used up its memory in Slurm.",
  slurm_node_failed: 'Slurm has lost the node of the session.',
  slurm_shrunk: 'Slurm has taken a node away from the job of the session.',
  slurm_failed: "The session's job has failed in Slurm.",
  slurm_forgotten: "Slurm does not have the session's job any more.",
  depends_on_status: 'Will not start: depends on session "{session}", which is {status}.',
  depends_on_exit: 'Will not start: depends on session "{session}", which ended with exit code {exitCode}.',
  depends_on_end: 'Will not start: depends on session "{session}", which ended as {reason}.',
  room_is_made: 'Next in line: room is being made for this session on host {host}.',
  others_interrupted:
    'Waits for {count, plural, one {# session} other {# sessions}} of lower priority on host {host} to be interrupted at {time}.',
  makes_room_at: 'Makes room for a session of higher priority at {time}, and continues later with its files.',
  sessions_at_most:
    'Resource policy "{policy}" allows {limit, plural, one {# session} other {# sessions}} at the same time; {running, plural, one {# session is} other {# sessions are}} running.',
  sessions_of_keypair_at_most:
    'Resource policy "{policy}" allows {limit, plural, one {# session} other {# sessions}} at the same time of one keypair; {running, plural, one {# session is} other {# sessions are}} running.',
  ask_for_other_policy: 'Ask an admin for another policy.',
  starts_after_one_ends: 'Starts when one of them ends.',
  starts_after: 'Starts once {sessions} {count, plural, one {has succeeded} other {have succeeded}}.',
  no_host_joined: 'No host has joined this resource group yet.',
  no_host_can_start: 'No connected host can start sessions now. Admins: "berth admin agent ls" says what is wrong.',
  hosts_paused: 'No connected host accepts new sessions; an admin has paused them.',
  no_host_restricts:
    'No host of this resource group that takes sessions can keep one from the network, or within an allow list: its firewall is not complete, or its agent is older. Admins: "berth admin agent ls" says what is missing.',
  no_host_restricts_default_of_policy:
    'The launch chose no network, and resource policy "{name}" then gives less than everything; but no host of this resource group can keep a session in: its firewall is not complete, or its agent is older. Admins: "berth admin agent ls" says what is missing.',
  no_host_restricts_default_of_domain:
    'The launch chose no network, and domain "{name}" then gives less than everything; but no host of this resource group can keep a session in: its firewall is not complete, or its agent is older. Admins: "berth admin agent ls" says what is missing.',
  host_does_not_restrict:
    'The host cannot keep sessions from the network now: its firewall is not complete, or its agent is older.',
  no_host_isolates:
    'No connected host isolates sessions as this resource group requires. Admins: "berth admin agent ls" says what is missing.',
  files_on_host_without_isolation:
    'The files of this session are on host {host}, which does not isolate sessions as this resource group requires.',
  files_on_host_away: 'The files of this session are on host {host}, which is not connected or takes no new sessions.',
  files_on_other_host: 'The files of this session are on a host that does not belong to this resource group any more.',
  storage_on_no_host: 'Its folders are on the storage {storage}, which no host that takes sessions has mounted.',
  storage_not_on_host:
    'The files of this session are on host {host}, which has not mounted the storage {storage} of its folders.',
  storage_and_image_nowhere:
    'No host has both the storage {storage} and the image {image}, and no registry offers the image.',
  storage_hosts_too_small: 'The hosts that have the storage {storage} of its folders are too small for this session.',
  architecture_on_no_host:
    'The image {image} is for {architecture} processors, and no host that takes sessions runs such images. Choose another image.',
  architecture_not_at_image:
    'The image {image} is for {architecture} processors. The hosts that have it do not run such images, and no registry offers it to others.',
  architecture_hosts_too_small:
    'The image {image} is for {architecture} processors, and the hosts that run such images are too small for this session.',
  image_hosts_closed:
    'The hosts that have the image {image} take no new sessions now, and no registry offers it to others.',
  image_on_no_host: 'No connected host has the image {image} any more, and no registry offers it.',
  image_hosts_too_small:
    'The hosts that have the image {image} are too small for this session, and no registry offers it to others.',
  gpu_on_no_host: 'No host has a working GPU "{gpu}". The GPUs here: {models}. Choose one of these, or any.',
  gpu_without_any: 'No host has a working GPU, and so none "{gpu}".',
  gpu_hosts_away: 'Every host with a GPU "{gpu}" is disconnected or paused.',
  raised_to_minimum: 'The request was raised to the minimum of the image: {amounts}.',
  shmem_lowered: 'Shared memory is part of the RAM and was lowered to {amount}.',
  image_from_host: 'The image is copied from another host first: {size}. The session shows the time that it takes.',
  image_from_host_in:
    'The image is copied from another host first: {size}, about {seconds} s at the rate of the last copy ({rate} a second).',
  network_default_none_of_policy:
    'The session has no network, because its launch chose none and resource policy "{name}" gives none by default.',
  network_default_none_of_domain:
    'The session has no network, because its launch chose none and domain "{name}" gives none by default.',
  network_default_list_of_policy:
    'The session reaches these names only, the default of resource policy "{name}": {allowed}.',
  network_default_list_of_domain: 'The session reaches these names only, the default of domain "{name}": {allowed}.',
  first_of_several: 'This holds for the first of the {count} sessions; the others start when there is room.',
  large_hosts_away: 'Every host large enough for this session is disconnected or paused.',
  needs_largest_host: 'Needs {needed} (the largest host has {available}).',
  needs_of_no_host: 'Needs {needed} (no host has any).',
  gang_needs_room:
    'Needs room for {needed} containers at the same time (the hosts have room for {available}). It starts once other sessions have ended.',
  gang_too_large:
    'Needs room for {needed} containers (all hosts together have room for {available} at most). Ask for fewer, or for smaller ones.',
  host_networks_used:
    'All networks between hosts are in use. It starts once another session over several hosts has ended.',
  hosts_not_connected:
    'No single host has room for all containers, and {count, plural, one {only one host has} other {too few hosts have}} an address in a private network between hosts. Ask the administrator to set it, or ask for less.',
  needs_free: 'Needs {needed} (at most {available} free).',
  needs_free_on_one: 'Needs {needed} (at most {available} free on one host or device).',
  needs_none_free: 'Needs {needed} (none free).',
  free_in_total: 'Enough is free in total.',
  ask_for_less: 'Ask for less.',
  starts_when_others_end: 'Starts when other sessions end.',
  needs_of_user: 'Needs {needed}; {left} left of the {limit} that resource policy "{policy}" gives each user.',
  needs_of_keypair: 'Needs {needed}; {left} left of the {limit} that resource policy "{policy}" gives each keypair.',
  needs_model_of_user:
    'Needs {needed}; in use are {held} of the {limit} GPU "{model}" that resource policy "{policy}" gives each user.',
  needs_model_of_keypair:
    'Needs {needed}; in use are {held} of the {limit} GPU "{model}" that resource policy "{policy}" gives each keypair.',
  needs_model_of_project:
    'Needs {needed}; in use are {held} of the {limit} GPU "{model}" that project "{name}" may hold.',
  needs_model_of_domain:
    'Needs {needed}; in use are {held} of the {limit} GPU "{model}" that domain "{name}" may hold.',
  ask_for_other_gpu: 'Choose another GPU or fewer, or ask an admin for a higher limit.',
  needs_of_project: 'Needs {needed}; project "{name}" has {left} left of {limit}.',
  needs_of_domain: 'Needs {needed}; domain "{name}" has {left} left of {limit}.',
  kept_on_host: 'What is free on host {host} is reserved for a session that has waited longer.',
  reserved_on_host: 'Next in line on {host}.',
  reserved_on_hosts: 'Next in line on {hosts}, with room for {room} of its {needed} containers so far.',
  start_unknown: 'The time of the start is not known.',
  starts_by: 'It starts by {time} at the latest.',
  start_unknown_away: '{host} is not connected, so the time is not known.',
  start_unknown_amounts: 'Waits for {amounts} on {host}; the time is not known.',
  start_unknown_device: 'Waits for room on one device of {host}; the time is not known.',
  starts_by_amounts: 'Waits for {amounts} on {host}, until {time} at the latest.',
  starts_by_device: 'Waits for room on one device of {host}, until {time} at the latest.',
  idle_for_days: 'Nothing happened in the session for {count, plural, one {# day} other {# days}}, its idle timeout.',
  lived_days: 'The maximum lifetime has passed: {count, plural, one {# day} other {# days}}, plus extensions.',
  idle_for_hours:
    'Nothing happened in the session for {count, plural, one {# hour} other {# hours}}, its idle timeout.',
  lived_hours: 'The maximum lifetime has passed: {count, plural, one {# hour} other {# hours}}, plus extensions.',
  idle_for_minutes:
    'Nothing happened in the session for {count, plural, one {# minute} other {# minutes}}, its idle timeout.',
  lived_minutes: 'The maximum lifetime has passed: {count, plural, one {# minute} other {# minutes}}, plus extensions.',
  idle_for_seconds:
    'Nothing happened in the session for {count, plural, one {# second} other {# seconds}}, its idle timeout.',
  lived_seconds: 'The maximum lifetime has passed: {count, plural, one {# second} other {# seconds}}, plus extensions.',
} as const
