/** Problems of agents and their devices, which administrators see on the pages of agents: see `CAUSES`. */
export const AGENT_CAUSES = {
  update_kind: 'Berth updates agents that its line has installed as a service. This one was installed in another way.',
  update_off: 'The host keeps its program (BERTH_AGENT_UPDATES=off).',
  update_unproven:
    'The agent knows no key of its manager: it joined a version that had none. Make a new line, and run it on the host.',
  update_at_work: 'Another update is in progress on this host.',
  update_not_fetched: 'The program could not be fetched from the manager: {text}',
  update_not_unpacked: 'The program could not be unpacked, or does not run on this host: {text}',
  update_not_started: 'systemd did not start the update: {text}',
  update_silent:
    'The host has not said within {minutes} minutes that it has the new program. Look at its log: journalctl -u berth-agent-update',
  update_chosen: 'An administrator asked for it. Hosts are updated one after the other.',
  update_in_turn: 'Hosts are updated one after the other, while nobody is connected to their sessions.',
  update_in_use: 'It is updated once nobody is connected to its sessions and no command runs in them.',
  update_by_command: 'Updates are made by hand (setting agentUpdates).',
  update_paused: 'The update of {agent} failed. No other host is updated by itself until that one is.',
  leave_sessions: 'The host has {count, plural, one {# container} other {# containers}} of sessions still.',
  leave_not_started: 'systemd did not start the removal: {text}',
  remove_away:
    'The host is not connected. Wait until it is, or remove it as it is (--away): its sessions end, and all of Berth stays on it.',
  call_removal_off: 'Call the removal of the host off first.',
  stays_folders: 'Folders of users: {paths}.',
  stays_homes: 'Homes of ended sessions: {paths}.',
  stays_images: 'Images, which sessions elsewhere may need.',
  stays_system: 'Docker, its settings, and packages of the distribution.',
  stays_program: 'The agent with its state, the networks, volumes and rules of the firewall. On the host: {command}',
  stays_away:
    'The host is not connected: containers of its sessions, their networks, volumes and homes, rules of the firewall, images, and the agent with its state. On the host, once it runs: {command}',
  update_away: 'The agent is not connected.',
  update_managers: 'Managers of different versions are running. Hosts are updated once all have the same.',
  gpu_starts_nothing:
    'Docker starts no container with this GPU: {text}. After an update of the driver, run nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml on the host, and restart Docker.',
  gpu_not_listed: 'nvidia-smi does not list this GPU any more.',
  nvidia_smi_silent: 'nvidia-smi did not answer in {seconds} s.',
  gpu_reported_as: 'nvidia-smi reports "{state}" for this GPU.',
  gpu_ecc_errors:
    'The GPU had {count, plural, one {# uncorrectable memory error} other {# uncorrectable memory errors}} (ECC) since the driver was loaded. Reset it: nvidia-smi -r -i {gpu}',
  gpu_xid: 'The driver reported error Xid {xid} for this GPU: {text} Reset the GPU, then restart the agent.',
  gpu_needs_recovery:
    'The driver asks for an action before this GPU is used again: {action}. Reset is nvidia-smi -r, once no session uses the GPU.',
  gpu_rows_failed: 'The GPU has no spare memory left for rows that failed (row remapping). Have it replaced.',
  gpu_rows_pending:
    'A row of the memory had an error and is replaced at the next reset. Reset the GPU when it is free: nvidia-smi -r -i {gpu}',
  gpu_pages_pending:
    'Pages of the memory had errors and are retired at the next reset. Reset the GPU: nvidia-smi -r -i {gpu}',
  gpu_slow: 'The hardware slows the GPU down. Look at its temperature and power supply.',
  gpu_slow_hot: 'The GPU is slowed down because it is too hot. Look at its fans, and at the air of the room.',
  gpu_slow_power: 'The GPU is slowed down because its power supply asks for it. Look at power supplies and cables.',
  amd_gpu_gone: 'The driver amdgpu does not list this GPU any more.',
  amd_smi_silent: '{program} did not answer in {seconds} s.',
  amd_smi_fails: '{program} fails, so the health of the GPU is not known: {text}',
  amd_ecc_errors:
    'The GPU had {count, plural, one {# uncorrectable memory error} other {# uncorrectable memory errors}} (RAS) since the driver was loaded. Reset it when it is free: amd-smi reset --gpureset -g {bus}',
  amd_pages_pending:
    'Pages of the memory had errors and are retired at the next reset. Reset the GPU when it is free: amd-smi reset --gpureset -g {bus}',
  amd_partitioned:
    'The GPU is divided into partitions, which Berth does not hand out. Set it back: amd-smi set --compute-partition SPX -g {bus}',
  amd_not_in_kfd: 'The driver offers this GPU for graphics only: it has no node in /sys/class/kfd.',
  amd_file_missing: 'The device file {path} of the GPU is missing.',
  amd_file_closed:
    'Only root may use the device file {path}. Give it to a group, such as render, by a rule for udev (70-amdgpu.rules).',
  amd_shares_accounted:
    'The driver of AMD limits no session to its share, and does not tell the memory of all programs, so the agent does not watch shares: they are only added up.',
  gpu_gone_in_use: 'The agent does not find this device any more, but sessions still use it.',
  compute_instance_shares: 'A compute instance shares its memory with the other compute instances of its GPU instance.',
  limits_not_reported: 'The agent has not reported yet whether memory limits are enforced on this device.',
  limits_of_simulated: 'A simulated GPU has no memory to limit.',
  limits_tested_later: 'Memory limits are tested once no session uses the device.',
  limits_being_tested: 'Memory limits are being tested.',
  limits_need_cgroups_2: 'The driver limits GPU memory through cgroups v2, which this host does not have.',
  limits_need_driver:
    'The driver cannot limit the GPU memory of a session. Driver R615 or newer can (nvidia-smi memory-limits).',
  limits_too_strict: 'Tested: with a limit, not even a quarter of the share could be allocated.',
  limits_passed_by_one: 'Tested: a program got more memory than its limit allows.',
  limits_passed_by_several: 'Tested: several programs together got more memory than their limit allows.',
  limits_hold:
    'Tested: the driver refuses a session more memory than its share. Managed memory (cudaMallocManaged) is not counted.',
  guard_ends: 'The agent warns a session that uses more memory than its share, and ends it within seconds.',
  guard_warns: 'The agent warns a session that uses more memory than its share, and does not end it.',
  guard_without_processes: 'The agent cannot watch the shares: it does not see the processes of sessions.',
  guard_without_size: 'The agent cannot watch the shares: the driver does not tell the memory of the GPU.',
  guard_without_figures: 'The agent cannot watch the shares: the driver does not tell the memory of processes.',
  guard_without_answer: 'The agent cannot watch the shares: nvidia-smi does not list the processes.',
  gpu_memory_unattributed:
    'About {size} of the memory belong to no process: managed memory, most likely. Several sessions use the GPU, so none is ended for it.',
  limits_not_tested: 'Memory limits could not be tested:',
  gpu_without_free_memory: 'The GPU had no free memory, even without a limit.',
  probe_image_missing: 'The image {image} is not on this host.',
  firewall_not_set_up: 'The firewall has not been set up yet.',
  no_iptables_here: 'This platform has no iptables.',
  agent_not_root:
    "The agent does not run as root, so it cannot set up iptables, and sessions run as the agent's user instead of one of their own.",
  iptables_not_installed: 'iptables is not installed on the host.',
  iptables_says: 'The firewall could not be set up: {text}',
  iptables_silent: 'The firewall could not be set up: {program} did not end within {seconds} s.',
  iptables_signal: 'The firewall could not be set up: {program} was ended by the signal {signal}.',
  iptables_exit: 'The firewall could not be set up: {program} ended with exit code {code} and printed nothing.',
  toolbox_no_iptables: 'The firewall could not be set up: the image {image} has no iptables. Make it again.',
  firewall_chains_missing: 'The rules of sessions are missing in {chains}.',
  no_cluster_networks: 'The host takes no part in sessions over several hosts:',
  cluster_needs_root: 'The agent must run as root on Linux for that.',
  cluster_address_not_here: 'agent.clusterAddress is {address}, and no network interface of the host has that address.',
  no_vxlan: 'The host cannot make VXLAN links: {text}. It needs iproute2 and the kernel module vxlan.',
  engine_elsewhere:
    'The agent runs in another network namespace than its Docker Engine, so it cannot set up a firewall there. It reaches apps through relays in the containers, which is slower. Run the agent in the network namespace of the engine.',
  agent_directory_apart:
    'The agent cannot start sessions: Docker does not find {path} at the same path. Run the agent in the mount namespace of Docker, on the same host, and restart it.',
  agent_disk_short:
    'The agent cannot start sessions: {path} has {free} free, and new sessions need {needed}. Free space on the host.',
  agent_inodes_short:
    'The agent cannot start sessions: {path} has room for {free, number} more files, and new sessions need {needed, number}. Remove files on the host.',
  agent_disk_refuses:
    'The agent cannot start sessions: the disk of {path} takes no new file ({code}), although it has free space. Look at its quotas, and on btrfs at the space for metadata (`btrfs filesystem usage`).',
  agent_engine_disk_full:
    'The agent cannot start sessions: the disk of Docker at {path} is full. Remove images that nobody uses, or free space on the host; `docker system df` shows what takes it.',
  agent_unhealthy:
    'The agent starts no sessions: the health command of this host (agent.health.command) fails: {text}. Mend the host; it takes sessions again once the command passes.',
  agent_starts_nothing:
    'The agent cannot start sessions: Docker did not start a container of Berth either: {text}. Restart Docker, and read its log.',
  docker_makes_no_networks:
    'Docker refuses to make them: {text}. If Docker names iptables, restart it: a firewall that was loaded anew has removed its rules. If Docker says that they overlap others, start the agent with another BERTH_AGENT_NETWORK_RANGE.',
  agent_without_networks: 'The agent cannot start sessions, because their network is not available:',
  containers_unsigned:
    '{count, plural, one {# container on the host carries} other {# containers on the host carry}} the name of this Berth, but not its signature. Or its owner has no account here. Import or remove each: `berth admin agent unknown ls`.',
  container_not_handled:
    'The state of container {kernel} could not be recorded ({code}). The next report tries again; the log of the manager has the cause.',
  images_not_saved:
    'The list of its images could not be saved ({code}). Trying again; the log of the manager has the cause.',
  report_containers_left_out:
    "{count, plural, one {# container} other {# containers}} left out of the agent's report ({text}).",
  report_images_left_out: "{count, plural, one {# image} other {# images}} left out of the agent's report ({text}).",
  report_devices_left_out: "{count, plural, one {# device} other {# devices}} left out of the agent's report ({text}).",
  report_figures_left_out: "{count, plural, one {# figure} other {# figures}} left out of the agent's report ({text}).",
  report_amounts_wrong:
    "{count, plural, one {# amount} other {# amounts}} in the agent's capacity not valid: counted as zero.",
} as const
