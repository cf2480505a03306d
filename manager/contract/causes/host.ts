/** Causes about hosts that agents report, and that users and administrators see: see `CAUSES`. */
export const HOST_CAUSES = {
  start_up_script_runs:
    'Your start-up script still runs. Apps start when it has ended; its output is in the log of the session.',
  docker_says: '{text}',
  docker_disk_full: 'The disk of the Docker Engine has no space, no inodes or no quota left.',
  docker_overloaded: 'Docker on the host is overloaded and did not answer in time.',
  docker_silent: 'Docker on the host does not answer.',
  docker_not_read: 'The agent has not read the state of Docker yet.',
  docker_not_started: 'Docker could not start the container: {text}',
  proxy_port_taken:
    'Another program of the host listens at {address}, where the proxy of sessions with an allow list belongs. Admins: end it, or set BERTH_AGENT_PROXY_PORT.',
  docker_refused_networks: 'Docker refused every network for the session.',
  session_needs_some: 'A session needs some CPU and at least 6 MiB of memory.',
  host_has_cpus: 'The host has {cpus} CPUs; the session asks for {asked}.',
  host_has_memory: 'The host has {bytes} bytes of memory; the session asks for {asked}.',
  image_has_no_program:
    'The image has no program of its own: its ENTRYPOINT and CMD are empty. Launch it with a startup command.',
  image_does_not_fit:
    'The image does not fit: {path} is a file where it must be a folder, or a folder where it must be a file. Use another image, or remove that path from the image.',
  gpu_limit_not_set: 'The memory limit on GPU {gpu} could not be set: {text}',
  engine_without_gpus:
    "The engine cannot hand out GPUs: it lists none by CDI, and NVIDIA's runtime is not there. Admins: run berth doctor on the host.",
  gpu_of_no_plugin: 'The agent knows no maker of this GPU. Admins: update the agent.',
  amd_engine_elsewhere:
    'The engine runs on another computer than the agent, so the GPUs of AMD that the agent sees cannot be handed out.',
  gpu_not_in_cdi:
    'The engine cannot hand out this GPU: it lists other GPUs by CDI, but not this one. Admins: on the host, run nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml',
  gpu_index_moved:
    'The session was stopped, because the engine gave it another GPU: asked for {asked}, found {found}. The CDI file of the host names GPUs by numbers, which have changed. Admins: on the host, run nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml',
  gpu_not_checked:
    'The engine names GPUs by numbers, and nvidia-smi could not check in the session which GPU it got: {text}. Admins: on the host, run nvidia-ctk cdi generate --device-name-strategy=uuid --output=/etc/cdi/nvidia.yaml',
  app_takes_arguments: 'The app does not take the argument "{name}". It takes these arguments: {taken}.',
  app_takes_no_arguments: 'The app does not take the argument "{name}". It takes no arguments.',
  app_takes_variables: 'The app does not take the variable "{name}". It takes these variables: {taken}.',
  app_takes_no_variables: 'The app does not take the variable "{name}". It takes no variables.',
  registry_has_other: 'The registry now has another image under {reference}. Start the session again to use it.',
  transfer_broken:
    'The connection to the host that gives the image broke too often. Try again: layers that have arrived are kept.',
  transfer_giver_says: 'The host that gives the image says: {text}',
  transfer_not_it: 'The other host sent files that are not those of the image. They were removed.',
  transfer_too_large: 'The other host sent more than the image can have. What it sent was removed.',
  transfer_other_store:
    'The engines of the two hosts keep images in different ways, so the image has another id there. Push the image to a registry, and pull it.',
  transfer_no_room:
    'The image needs {needed} on the disk of {path}, and {left} are free. Free space there, and try again.',
  transfer_no_giver:
    'No host that is connected has the image {image}. Build or load it on one, or pull it from a registry.',
  transfer_several:
    'Hosts have different images under the name {image}: {digests}. Say by its digest which one is to be copied.',
  transfer_waited: 'No other host has sent the image in time. Try again.',
  pulled_image_gone: 'The image was pulled, but is not on the host. Launch the session again.',
  made_image_gone: 'The image was made, but is not on the host.',
  service_definition_wrong: "The image's definition of this service cannot be used: {text}.",
  app_without_options: 'Berth does not start this app, so it cannot be given options.',
  app_ended: 'The app ended with exit code {exitCode}.',
  session_has_ended: 'The session ended.',
  app_port_closed: 'The app did not open port {port} within {seconds} s.',
  app_does_not_end: 'The app does not end, so it cannot be started with other options.',
  nothing_listens: 'Nothing in the session listens on port {port}.',
  end_of_output: 'The end of its output: {output}',
  container_removed_starting: 'The container was removed while it was starting, but not by Berth.',
  session_files_deleted: 'The files of the session have been deleted. Start a new session instead.',
  session_files_replaced: 'Something else is in the place of the files of the session. Start a new session instead.',
  folder_of_other_uid:
    'The files of the folder at {path} belong to uid {owner}, and sessions of this host run as uid {uid}. All hosts that share a storage need the same uid: an admin gives the account berth-session the same uid on each.',
  attempt_ended: 'The container of this attempt has already ended.',
  attempt_in_progress: 'Attempt {attempt} is already in progress.',
  agent_not_joined: 'The agent has not joined a manager yet.',
  agent_stopping: 'The agent is stopping.',
  container_start_late: 'The container did not start within {seconds} s.',
  host_directory_apart:
    'The agent of the host and its Docker Engine do not see the same files. An administrator has to mend the host.',
  host_without_toolbox:
    'The host lacks the toolbox of Berth, with which sessions start. An administrator has to mend the host.',
  host_starts_nothing: 'The Docker Engine of the host starts no containers. An administrator has to mend the host.',
  host_gpu_failed: 'A GPU of the host does not work. An administrator has to mend the host.',
  host_unhealthy: 'The host has a problem, and takes no sessions until it is mended.',
  storage_away_on_host:
    'Not mounted on the host, or without an answer: storage {storage}. Sessions that need it start on other hosts only.',
  host_disk_short: 'The disk of the host has too little room for a new session.',
  all_variants_folders: '{path} and its 99 numbered variants are all folders. Remove one of them.',
  disk_of_path_full: 'The disk of {path} has no space or no inodes left ({code}).',
  disk_of_path_quota: 'The disk of {path} has reached a disk quota ({code}).',
  ssh_keys_not_renewed: 'The SSH keys of the session could not be renewed. {output}',
  network_range_used_up:
    '{range} has no free /28 left. End sessions, or give the agent a larger BERTH_AGENT_NETWORK_RANGE.',
  network_range_overlaps:
    '{range} overlaps {route} on {device}. Start the agent with another BERTH_AGENT_NETWORK_RANGE.',
  mount_over_file:
    'A folder is to be mounted at "{path}", where the home of the session has a file. Choose another path.',
  folder_path_taken:
    'In the home of the session, there is something at "{path}" or in the way to it. Choose another path, or move it away.',
  folder_busy:
    'Programs of the session have files open in "{path}", or run in that directory. Close the files and leave the directory; with force, it disappears at once, and programs keep only the files that are open.',
  folders_container_older:
    'Its container was made without a place for more folders: by an earlier version of Berth, or while its host could not make one. Start the session again.',
  folders_agent_apart:
    'The agent of its host runs in another mount namespace than Docker, so what it mounts does not reach sessions. Admins: docs/admin/storage.md says how to run it beside Docker.',
  folders_agent_not_root: 'The agent of its host does not run as root, so it cannot mount folders.',
  folders_cannot_mount: 'The agent of its host cannot mount folders: {text}',
  folder_not_seen: 'The folder at "{path}" was mounted on the host, but did not appear in the session.',
  storage_of_folder_away: 'The storage of the folder at "{path}" is not mounted on this host, or does not answer.',
  storage_of_folder_closed:
    'The agent of this host may not look into the storage of the folder at "{path}". An administrator exports the share with no_root_squash to this host, or runs the agent as the user that the manager runs as.',
  files_of_mount_gone:
    'The files of the folder at "{path}" are not on its storage any more. Launch the session without the folder.',
  toolbox_image_missing:
    'The image {image} is missing. Run "berth admin image build toolbox" on that host, or load the image with "docker load".',
  toolbox_not_ours:
    'The image {image} was not made by this recipe of Berth, or under another name. Run "berth admin image build toolbox" on that host, or load the right image with "docker load".',
  toolbox_volume_not_filled: 'The volume {volume} could not be filled from {image}.',
  request_unknown: 'This agent does not know the request "{request}". Update the agent to the version of the manager.',
  agent_refuses_request: '{text}',
  request_cancelled: 'The manager cancelled the request.',
  engine_is_podman:
    'The engine is Podman, with which Berth is not tested and sessions fail. Install Docker Engine 20.10 or newer, or set DOCKER_HOST to one.',
  docker_host_form:
    'DOCKER_HOST is "{value}"; the value must look like unix:///var/run/docker.sock or tcp://10.0.0.5:2375.',
  home_bytes_over: 'The files of the session in /home/work took {size}; the limit on this host is {limit}.',
  outside_bytes_over: 'The files of the session outside of /home/work took {size}; the limit on this host is {limit}.',
  home_files_over: 'The session had {count} files and folders in /home/work; the limit on this host is {limit}.',
  outside_files_over:
    'The session had {count} files and folders outside of /home/work; the limit on this host is {limit}.',
  disk_filled_by_bytes:
    'The disk of the host was nearly full ({left} left), and this session had written the most: {written} within minutes. Remove files, or ask an administrator for room.',
  disk_filled_by_files:
    'The disk of the host was nearly full ({left} files left), and this session had written the most: {written} files within minutes. Remove files, or ask an administrator for room.',
  gpu_of_session_failed:
    'The GPU {model} of the session has a problem. Programs may fail, or compute wrong results. Save what is needed, and launch a session on another GPU; administrators see the cause.',
  gpu_share_passed:
    'The session used {used} of GPU memory; its share is {share}. Use less, or launch it with a larger share.',
  gpu_share_passed_unclaimed:
    'The session used {used} of GPU memory; its share is {share}. {unclaimed} of this is managed or other memory that the driver counts for no process. Use less, or launch it with a larger share.',
  gpu_share_warned:
    'The session uses {used} of GPU memory; its share is {share}. The host ends sessions that stay above their share.',
  gpu_share_told: 'The session uses {used} of GPU memory; its share is {share}. Other sessions need the rest.',
  epoll_used_up:
    "The session repeatedly used most of the host's {watches} watches of epoll, which other sessions need too.",
  in_flight_used_up:
    'The session repeatedly had most of the {descriptors} descriptors in flight over Unix sockets that a host allows all of its sessions together.',
  signals_used_up:
    'The session repeatedly had most of the {signals} pending signals and timers that a host allows all of its sessions together.',
  inotify_used_up:
    "The session repeatedly used most of the host's {instances} inotify instances or {watches} watches, which other sessions need too.",
} as const
