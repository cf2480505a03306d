/** Why sessions wait, are tried again or have ended, where the sentence of the reason's code says less: see `CAUSES`. */
export const SESSION_CAUSES = {
  start_failed_on: 'Starting on host {host} failed:',
  trying_again: 'Trying again.',
  process_ended: 'The main process ended with exit code {exitCode}.',
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
  may_run_until: 'The session may run until {time}.',
  placed_on: 'Placed on host {host}.',
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
  image_hosts_closed:
    'The hosts that have the image {image} take no new sessions now, and no registry offers it to others.',
  image_on_no_host: 'No connected host has the image {image} any more, and no registry offers it.',
  image_hosts_too_small:
    'The hosts that have the image {image} are too small for this session, and no registry offers it to others.',
} as const
