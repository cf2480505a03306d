import { type AGENT_CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Problems of agents and their devices, by key. English is the server's text (`manager/contract/causes/agent.ts`). */
export default {
  update_kind:
    'Berth는 추가 명령으로 서비스로 설치된 에이전트만 업데이트합니다. 이 에이전트는 다른 방법으로 설치되었습니다.',
  update_off: '이 호스트는 프로그램을 그대로 유지합니다(BERTH_AGENT_UPDATES=off).',
  update_unproven:
    '에이전트가 매니저의 키를 모릅니다. 키가 없던 버전에 참여했기 때문입니다. 새 추가 명령을 만들어 호스트에서 실행하세요.',
  update_at_work: '이 호스트에서 다른 업데이트가 진행 중입니다.',
  update_not_fetched: '매니저에서 프로그램을 받지 못했습니다: {text}',
  update_not_unpacked: '프로그램을 풀지 못했거나 이 호스트에서 실행되지 않습니다: {text}',
  update_not_started: 'systemd가 업데이트를 시작하지 못했습니다: {text}',
  update_silent:
    '{minutes}분 안에 호스트가 새 프로그램을 쓴다고 알리지 않았습니다. 호스트의 로그를 확인하세요: journalctl -u berth-agent-update',
  update_chosen: '관리자가 요청했습니다. 호스트는 하나씩 차례로 업데이트됩니다.',
  update_in_turn: '호스트는 세션에 연결된 사람이 없을 때 하나씩 차례로 업데이트됩니다.',
  update_in_use: '세션에 연결된 사람과 실행 중인 명령이 없어지면 업데이트됩니다.',
  update_by_command: '업데이트는 직접 합니다(설정 agentUpdates).',
  update_paused:
    '{agent} 업데이트가 실패했습니다. 그 호스트가 업데이트될 때까지 다른 호스트는 자동으로 업데이트되지 않습니다.',
  leave_sessions: '호스트에 세션 컨테이너 {count}개가 아직 있습니다.',
  leave_not_started: 'systemd가 제거를 시작하지 못했습니다: {text}',
  remove_away:
    '호스트가 연결되어 있지 않습니다. 연결될 때까지 기다리거나 그대로 제거하세요(--away). 그러면 세션이 종료되고 호스트에는 Berth가 그대로 남습니다.',
  call_removal_off: '먼저 호스트 제거를 취소하세요.',
  stays_folders: '사용자 폴더: {paths}.',
  stays_homes: '종료된 세션의 홈: {paths}.',
  stays_images: '이미지. 다른 곳의 세션에 필요할 수 있습니다.',
  stays_system: 'Docker와 그 설정, 배포판의 패키지.',
  stays_program: '에이전트와 그 상태, 네트워크, 볼륨, 방화벽 규칙. 호스트에서 실행할 명령: {command}',
  stays_away:
    '호스트가 연결되어 있지 않습니다. 세션 컨테이너와 네트워크, 볼륨, 홈, 방화벽 규칙, 이미지, 에이전트와 그 상태가 남습니다. 호스트가 켜지면 그곳에서 실행할 명령: {command}',
  update_away: '에이전트가 연결되어 있지 않습니다.',
  update_managers: '버전이 다른 매니저들이 실행 중입니다. 모두 같은 버전이 되면 호스트가 업데이트됩니다.',
  gpu_starts_nothing:
    'Docker가 이 GPU로는 컨테이너를 시작하지 못합니다: {text}. 드라이버를 업데이트했다면 호스트에서 nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml을 실행하고 Docker를 다시 시작하세요.',
  gpu_not_listed: 'nvidia-smi가 이 GPU를 더 이상 보여 주지 않습니다.',
  nvidia_smi_silent: 'nvidia-smi가 {seconds}초 안에 응답하지 않았습니다.',
  gpu_reported_as: 'nvidia-smi가 알린 이 GPU의 상태: "{state}".',
  gpu_ecc_errors:
    '드라이버를 불러온 뒤 GPU에 정정할 수 없는 메모리 오류(ECC)가 {count}번 있었습니다. 다음 명령으로 재설정하세요: nvidia-smi -r -i {gpu}',
  gpu_xid: '드라이버가 이 GPU의 Xid {xid} 오류를 알렸습니다: {text} GPU를 재설정한 다음 에이전트를 다시 시작하세요.',
  gpu_needs_recovery:
    '이 GPU를 다시 쓰기 전에 드라이버가 요구하는 조치가 있습니다: {action}. 재설정(Reset)은 세션이 GPU를 쓰지 않을 때 nvidia-smi -r로 합니다.',
  gpu_rows_failed: '고장 난 행을 대신할 예비 메모리가 GPU에 남아 있지 않습니다(행 재배치 실패). GPU를 교체하십시오.',
  gpu_rows_pending:
    '메모리 한 행에 오류가 있었고 다음 재설정 때 교체됩니다. GPU가 비어 있을 때 재설정하십시오: nvidia-smi -r -i {gpu}',
  gpu_pages_pending:
    '메모리 페이지에 오류가 있었고 다음 재설정 때 제외됩니다. GPU를 재설정하십시오: nvidia-smi -r -i {gpu}',
  gpu_slow: '하드웨어가 GPU 속도를 낮추고 있습니다. 온도와 전원 공급을 확인하십시오.',
  gpu_slow_hot: 'GPU가 너무 뜨거워 속도를 낮추고 있습니다. 팬과 실내 공기를 확인하십시오.',
  gpu_slow_power: '전원 공급 장치가 요구하여 GPU 속도를 낮추고 있습니다. 전원 공급 장치와 케이블을 확인하십시오.',
  amd_gpu_gone: 'amdgpu 드라이버에 이 GPU가 더는 나오지 않습니다.',
  amd_smi_silent: '{seconds}초 동안 응답하지 않은 프로그램: {program}',
  amd_smi_fails: '프로그램 {program} 실패로 GPU의 상태를 알 수 없습니다: {text}',
  amd_ecc_errors:
    '드라이버를 올린 뒤 GPU에서 정정할 수 없는 메모리 오류(RAS)가 {count}번 났습니다. GPU가 비면 초기화하세요: amd-smi reset --gpureset -g {bus}',
  amd_pages_pending:
    '메모리 페이지에 오류가 있어 다음 초기화 때 제외됩니다. GPU가 비면 초기화하세요: amd-smi reset --gpureset -g {bus}',
  amd_partitioned:
    'GPU가 파티션으로 나뉘어 있습니다. Berth는 파티션을 주지 않습니다. 되돌리세요: amd-smi set --compute-partition SPX -g {bus}',
  amd_not_in_kfd: '드라이버가 이 GPU를 그래픽용으로만 제공합니다. /sys/class/kfd에 노드가 없습니다.',
  amd_file_missing: 'GPU의 장치 파일({path})이 없습니다.',
  amd_file_closed:
    '장치 파일({path})을 root만 쓸 수 있습니다. udev 규칙(70-amdgpu.rules)으로 render 같은 그룹에 권한을 주세요.',
  amd_shares_accounted:
    'AMD 드라이버는 세션을 제 몫으로 제한하지 않고 모든 프로그램의 메모리를 알려 주지도 않습니다. 그래서 에이전트는 GPU 조각을 감시하지 않고 더하기만 합니다.',
  gpu_gone_in_use: '에이전트가 이 장치를 더 이상 찾지 못하지만, 아직 사용하는 세션이 있습니다.',
  compute_instance_shares: '컴퓨트 인스턴스는 같은 GPU 인스턴스의 다른 컴퓨트 인스턴스와 메모리를 함께 씁니다.',
  limits_not_reported: '이 장치에서 메모리 한도가 지켜지는지 에이전트가 아직 알리지 않았습니다.',
  limits_of_simulated: '시뮬레이션 GPU에는 제한할 메모리가 없습니다.',
  limits_tested_later: '장치를 사용하는 세션이 없을 때 메모리 한도를 시험합니다.',
  limits_being_tested: '메모리 한도를 시험하고 있습니다.',
  limits_need_cgroups_2: '드라이버는 cgroups v2로 GPU 메모리를 제한하는데, 이 호스트에는 없습니다.',
  limits_need_driver:
    '드라이버가 세션의 GPU 메모리를 제한하지 못합니다. R615 이상의 드라이버가 필요합니다(nvidia-smi memory-limits).',
  limits_too_strict: '시험 결과: 한도를 두면 몫의 4분의 1도 할당할 수 없었습니다.',
  limits_passed_by_one: '시험 결과: 한 프로그램이 한도보다 많은 메모리를 받았습니다.',
  limits_passed_by_several: '시험 결과: 여러 프로그램이 합쳐서 한도보다 많은 메모리를 받았습니다.',
  limits_hold:
    '시험 결과: 드라이버는 세션이 몫보다 많은 메모리를 쓰지 못하게 합니다. 관리형 메모리(cudaMallocManaged)는 세지 않습니다.',
  guard_ends: '제 몫보다 많은 메모리를 쓰는 세션에 에이전트가 경고하고, 몇 초 안에 종료합니다.',
  guard_warns: '제 몫보다 많은 메모리를 쓰는 세션에 에이전트가 경고하지만 종료하지는 않습니다.',
  guard_without_processes: '에이전트가 몫을 감시할 수 없습니다. 세션의 프로세스가 보이지 않습니다.',
  guard_without_size: '에이전트가 몫을 감시할 수 없습니다. 드라이버가 GPU의 메모리 크기를 알려 주지 않습니다.',
  guard_without_figures: '에이전트가 몫을 감시할 수 없습니다. 드라이버가 프로세스의 메모리를 알려 주지 않습니다.',
  guard_without_answer: '에이전트가 몫을 감시할 수 없습니다. nvidia-smi가 프로세스 목록을 주지 않습니다.',
  gpu_memory_unattributed:
    '어느 프로세스의 것도 아닌 메모리(약 {size})가 있습니다. 관리 메모리(managed memory)일 가능성이 큽니다. 여러 세션이 이 GPU를 쓰므로 어느 세션도 종료하지 않습니다.',
  limits_not_tested: '메모리 한도를 시험하지 못했습니다:',
  gpu_without_free_memory: '한도가 없어도 GPU에 빈 메모리가 없었습니다.',
  probe_image_missing: '{image} 이미지가 이 호스트에 없습니다.',
  firewall_not_set_up: '방화벽을 아직 설정하지 않았습니다.',
  no_iptables_here: '이 플랫폼에는 iptables가 없습니다.',
  agent_not_root:
    '에이전트가 root로 실행되지 않아 iptables를 설정할 수 없고, 세션은 전용 사용자가 아니라 에이전트의 사용자로 실행됩니다.',
  iptables_not_installed: '호스트에 iptables가 설치되어 있지 않습니다.',
  iptables_says: '방화벽을 설정하지 못했습니다: {text}',
  iptables_silent: '방화벽을 설정하지 못했습니다: {program} 프로그램이 {seconds}초 안에 끝나지 않았습니다.',
  iptables_signal: '방화벽을 설정하지 못했습니다: {program} 프로그램이 {signal} 시그널로 끝났습니다.',
  iptables_exit: '방화벽을 설정하지 못했습니다: {program} 프로그램이 아무 메시지 없이 끝났습니다(종료 코드: {code}).',
  toolbox_no_iptables: '방화벽을 설정하지 못했습니다. {image} 이미지에 iptables가 없습니다. 이미지를 다시 만드세요.',
  firewall_chains_missing: '{chains} 체인에 세션의 규칙이 없습니다.',
  no_cluster_networks: '이 호스트는 여러 호스트에 걸친 세션에 참여하지 않습니다.',
  cluster_needs_root: '그러려면 에이전트를 Linux에서 root로 실행해야 합니다.',
  cluster_address_not_here:
    'agent.clusterAddress가 {address}인데, 호스트의 어떤 네트워크 인터페이스에도 그 주소가 없습니다.',
  no_vxlan: '호스트에서 VXLAN 링크를 만들 수 없습니다: {text}. iproute2와 커널 모듈 vxlan이 필요합니다.',
  engine_elsewhere:
    '에이전트가 Docker 엔진과 다른 네트워크 네임스페이스에서 실행되므로 거기에 방화벽을 설정할 수 없습니다. 앱에는 컨테이너 안의 릴레이를 거쳐 연결하므로 더 느립니다. 엔진의 네트워크 네임스페이스에서 에이전트를 실행하세요.',
  agent_directory_apart:
    '에이전트가 세션을 시작하지 못합니다. Docker가 {path} 경로를 같은 위치에서 찾지 못합니다. 에이전트를 같은 호스트에서 Docker와 같은 마운트 네임스페이스로 실행하고 다시 시작하세요.',
  agent_disk_short:
    '에이전트가 세션을 시작하지 못합니다. {path}의 여유 공간: {free}. 새 세션에 필요한 공간: {needed}. 호스트의 공간을 확보하세요.',
  agent_inodes_short:
    '에이전트가 세션을 시작하지 못합니다. {path}에는 파일을 {free, number}개 더 둘 수 있고 새 세션에는 {needed, number}개가 필요합니다. 호스트의 파일을 지우세요.',
  agent_disk_refuses:
    '에이전트가 세션을 시작하지 못합니다. {path}의 디스크에 여유 공간이 있지만 새 파일을 쓸 수 없습니다({code}). 쿼터를 확인하고, btrfs라면 메타데이터 공간도 확인하세요(`btrfs filesystem usage`).',
  agent_engine_disk_full:
    '에이전트가 세션을 시작하지 못합니다. {path}에 있는 Docker의 디스크가 가득 찼습니다. 쓰지 않는 이미지를 지우거나 호스트의 공간을 확보하세요. `docker system df`로 무엇이 공간을 차지하는지 볼 수 있습니다.',
  agent_unhealthy:
    '에이전트가 세션을 시작하지 않습니다. 이 호스트의 상태 명령(agent.health.command)이 실패합니다: {text}. 호스트를 고치십시오. 명령이 성공하면 호스트가 다시 세션을 받습니다.',
  agent_starts_nothing:
    '에이전트가 세션을 시작하지 못합니다. Docker가 Berth의 컨테이너도 시작하지 못했습니다: {text}. Docker를 다시 시작하고 Docker의 로그를 확인하세요.',
  docker_makes_no_networks:
    'Docker가 네트워크를 만들지 않습니다: {text}. Docker가 iptables를 언급하면 Docker를 다시 시작하세요. 방화벽을 다시 불러오면 Docker의 규칙이 지워집니다. 다른 네트워크와 겹친다고 하면 에이전트를 다른 BERTH_AGENT_NETWORK_RANGE로 시작하세요.',
  agent_without_networks: '세션의 네트워크를 쓸 수 없어 에이전트가 세션을 시작하지 못합니다:',
  containers_unsigned:
    '호스트의 컨테이너 {count}개에 이 Berth의 이름이 있지만 서명이 없거나 소유자의 계정이 여기에 없습니다. 하나씩 가져오거나 제거하세요: `berth admin agent unknown ls`.',
  container_not_handled:
    '{kernel} 컨테이너의 상태를 기록하지 못했습니다({code}). 다음 보고 때 다시 시도하며, 원인은 매니저의 로그에 있습니다.',
  images_not_saved: '이미지 목록을 저장하지 못했습니다({code}). 다시 시도하며, 원인은 매니저의 로그에 있습니다.',
  report_containers_left_out: '에이전트의 보고에서 컨테이너 {count}개를 제외했습니다({text}).',
  report_images_left_out: '에이전트의 보고에서 이미지 {count}개를 제외했습니다({text}).',
  report_devices_left_out: '에이전트의 보고에서 장치 {count}개를 제외했습니다({text}).',
  report_figures_left_out: '에이전트의 보고에서 수치 {count}개를 제외했습니다({text}).',
  report_amounts_wrong: '에이전트의 용량 중 {count}개의 값이 올바르지 않아 0으로 칩니다.',
} satisfies Translation<typeof AGENT_CAUSES>
