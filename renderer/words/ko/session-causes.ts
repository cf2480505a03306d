import { type SESSION_CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Reasons of sessions by key. English is the server's text (`manager/contract/causes/session.ts`). */
export default {
  image_right_withdrawn:
    '이 세션의 도메인은 이제 {image} 이미지를 쓸 수 없습니다. 관리자에게 문의하거나 다른 이미지로 세션을 시작하세요.',
  launcher_left:
    '{who} 님이 소유자 대신 이 세션을 시작했지만 이제 소유자의 계정을 관리하지 않습니다. 취소하고 직접 세션을 시작하세요.',
  token_ended: '이 세션을 시작한 액세스 토큰이 끝나서 세션이 시작되지 않습니다. 소유자가 다시 시작할 수 있습니다.',
  owner_left:
    '이 세션의 소유자는 이제 프로젝트의 구성원이 아닙니다. 프로젝트 관리자에게 문의하거나 다른 프로젝트에서 세션을 시작하세요.',
  owner_moved:
    '요청한 뒤 이 세션의 소유자가 다른 도메인으로 옮겨졌습니다. 세션을 다시 시작하면 새 도메인에 포함됩니다.',
  start_failed_on: '{host} 호스트에서 시작하지 못했습니다:',
  trying_again: '다시 시도합니다.',
  process_ended: '주 프로세스가 끝났습니다(종료 코드 {exitCode}).',
  after_memory_kill:
    '그 직전에 세션이 RAM을 모두 사용하여 프로그램 하나가 종료되었습니다. RAM을 늘려 세션을 시작하세요.',
  ran_out_of_memory: '컨테이너의 메모리가 부족하여 중지되었습니다. RAM을 늘려 세션을 시작하세요.',
  container_ended: '{container} 컨테이너가 끝나 세션도 함께 종료되었습니다.',
  docker_is_busy: '곧 시작합니다. {host} 호스트의 Docker가 바쁩니다.',
  starts_after_others: '곧 시작합니다. {host} 호스트에서 먼저 시작하는 세션이 {count}개 있습니다.',
  ended_by: '{who} 님이 종료했습니다.',
  ended_by_because: '{who} 님이 종료했습니다: {why}',
  host_removed: '관리자가 {host} 호스트를 Berth에서 제거하여 세션이 종료되었습니다.',
  start_too_long: '시작이 너무 오래 걸렸습니다.',
  host_not_ready_in_time: '호스트가 제시간에 세션을 시작할 준비를 마치지 못했습니다.',
  container_late: '호스트가 제시간에 컨테이너를 시작하지 못했습니다.',
  image_late: '제시간에 이미지를 가져오지 못했습니다.',
  was_starting_at_backup: '백업을 만들 때 세션이 시작되고 있었습니다.',
  idle_time_again: '유휴 시간을 지금부터 다시 셉니다.',
  program_out_of_memory: '세션이 RAM({limit})을 모두 사용하여 프로그램이 종료되었습니다.',
  folder_now_at: '"{name}" 폴더가 {path} 경로에 생겼습니다.',
  folder_out_of: '"{name}" 폴더가 {path} 경로에서 빠졌습니다.',
  folder_not_mounted_again: '"{name}" 폴더를 {path} 경로에 다시 마운트하지 못했습니다.',
  log_not_kept: '호스트에 로그의 이 부분이 더는 남아 있지 않습니다. 로그를 처음부터 다시 읽으세요.',
  may_run_until: '세션은 {time}까지 실행할 수 있습니다.',
  placed_on: '{host} 호스트에 배치되었습니다.',
  host_left_private_network:
    '이 호스트는 지금 여러 호스트에 걸친 세션에 참여하지 않습니다. 사설 네트워크 주소가 설정되지 않았거나 방화벽이 다른 접근을 막지 못합니다.',
  placed_on_hosts: '호스트 {hosts}에 배치되었습니다.',
  slurm_asked: 'Slurm에 자원을 요청했습니다.',
  slurm_decides: '세션이 시작되는 때는 Slurm이 정합니다.',
  slurm_resources: 'Slurm에서 자원이 충분히 빌 때까지 기다립니다.',
  slurm_priority: 'Slurm에서 다른 작업 다음으로 기다립니다.',
  slurm_held: 'Slurm에서 보류되었습니다. 클러스터 관리자가 풀어야 합니다.',
  slurm_limit: 'Slurm에서 한도에 걸려 기다립니다({reason}).',
  slurm_never: '대기열의 한도를 넘어 Slurm이 이 세션을 시작하지 않습니다({reason}). 관리자에게 문의하세요.',
  slurm_no_node: 'Slurm에서 필요한 노드를 쓸 수 있을 때까지 기다립니다({reason}).',
  slurm_waits: 'Slurm에서 기다립니다({reason}).',
  slurm_estimate: '예상 시작 시각: {time}.',
  slurm_confirming: 'Slurm이 자원을 할당했습니다. 몇 초 뒤에 세션을 시작합니다.',
  slurm_refused: 'Slurm이 요청을 거절했습니다: {words}',
  slurm_asked_again: 'Slurm에 보낸 요청이 사라져 대기열의 자리를 잃었습니다. 다시 요청합니다.',
  slurm_away: 'Slurm이 응답하지 않습니다({time}부터). 그 때문에 시작되거나 끝나는 세션은 없습니다.',
  slurm_node_unknown: 'Slurm이 할당한 노드({node})와 이름이 같은, 연결된 호스트가 이 자원 그룹에 없습니다.',
  slurm_nodes_other:
    'Slurm이 요청과 다른 노드를 할당했습니다: {nodes}. 세션에는 서로 다른 호스트 {needed}개가 필요합니다.',
  slurm_hosts_apart:
    'Slurm은 컨테이너 {needed}개에 각각 다른 호스트를 할당하지만, 호스트 사이의 사설 네트워크에 주소가 있는 호스트는 {count}개뿐입니다. 관리자에게 주소 설정을 요청하거나 컨테이너 수를 줄이세요.',
  slurm_gpus_unknown: 'Slurm이 할당한 GPU(노드 {node})가 호스트의 통째 GPU와 맞지 않습니다.',
  slurm_gpus_fewer: 'Slurm이 요청보다 적은 GPU를 할당했습니다(노드 {node}). 다시 요청합니다.',
  slurm_gpus_other: 'Slurm이 고른 조건({gpu})과 다른 GPU를 할당했습니다(노드 {node}). 다시 요청합니다.',
  slurm_gpus_nowhere:
    '이 자원 그룹에는 고른 GPU({gpu})만 있는 노드가 없거나, Slurm이 GPU를 구별하지 못합니다. 다른 GPU를 고르거나 관리자에게 문의하세요.',
  slurm_host_full: 'Slurm이 할당한 자원(노드 {node})을 호스트가 아직 쓰고 있습니다.',
  slurm_host_unable:
    'Slurm이 할당한 노드({node})의 호스트가 지금 세션을 받지 않거나, 이 세션을 실행할 수 없습니다(이미지, 아키텍처, 저장소 또는 격리).',
  slurm_hosts_unable:
    '세션에는 이미지, 아키텍처, 저장소, 격리 조건이 모두 맞는 이 자원 그룹의 호스트가 {needed}개 필요하지만, 지금은 {count}개뿐입니다.',
  slurm_cancelled: '세션의 작업이 Slurm에서 취소되었습니다.',
  slurm_timeout: '세션의 작업이 Slurm의 시간 제한에 이르렀습니다.',
  slurm_preempted: 'Slurm이 먼저 실행할 작업에 자원을 넘깁니다.',
  slurm_requeued: 'Slurm이 세션의 자원을 거두고 작업을 다시 대기열에 넣었습니다.',
  slurm_continues:
    '중단되었습니다. Slurm이 먼저 실행할 작업에 자원을 넘깁니다. 세션은 파일을 그대로 두고 새로 할당받아 이어서 실행됩니다.',
  makes_room_in_slurm_at: 'Slurm에서 먼저 실행할 작업을 위해 자리를 비우고({time}), 나중에 파일과 함께 계속합니다.',
  slurm_keeps: 'Slurm이 다른 작업에 자원을 넘길 필요가 없어졌습니다.',
  slurm_out_of_memory: '세션의 작업이 Slurm에서 메모리를 다 썼습니다.',
  slurm_node_failed: 'Slurm이 세션의 노드를 잃었습니다.',
  slurm_shrunk: 'Slurm이 세션의 작업에서 노드를 거두었습니다.',
  slurm_failed: '세션의 작업이 Slurm에서 실패했습니다.',
  slurm_forgotten: 'Slurm에 세션의 작업이 더는 없습니다.',
  depends_on_status: '시작하지 않습니다. "{session}" 세션에 의존하는데 그 세션의 상태는 {status}입니다.',
  depends_on_exit:
    '시작하지 않습니다. "{session}" 세션에 의존하는데 그 세션이 성공하지 못했습니다(종료 코드 {exitCode}).',
  depends_on_end: '시작하지 않습니다. "{session}" 세션에 의존하는데 그 세션이 성공하지 못했습니다({reason}).',
  room_is_made: '다음 차례입니다. {host} 호스트에 이 세션의 자리를 만들고 있습니다.',
  others_interrupted: '{host} 호스트에서 우선순위가 낮은 세션 {count}개가 중단되기를 기다립니다({time}).',
  makes_room_at: '우선순위가 더 높은 세션을 위해 자리를 비우고({time}), 나중에 파일과 함께 계속합니다.',
  sessions_at_most: '"{policy}" 자원 정책은 동시에 세션 {limit}개까지 허용하며, 지금 {running}개가 실행 중입니다.',
  sessions_of_keypair_at_most:
    '"{policy}" 자원 정책은 키 쌍마다 동시에 세션 {limit}개까지 허용하며, 지금 {running}개가 실행 중입니다.',
  ask_for_other_policy: '관리자에게 다른 정책을 요청하세요.',
  starts_after_one_ends: '그중 하나가 끝나면 시작합니다.',
  starts_after: '다음 세션 {count}개가 성공하면 시작합니다: {sessions}',
  no_host_joined: '이 자원 그룹에 아직 참여한 호스트가 없습니다.',
  no_host_can_start:
    '지금 세션을 시작할 수 있는 연결된 호스트가 없습니다. 관리자는 "berth admin agent ls" 명령으로 원인을 볼 수 있습니다.',
  hosts_paused: '새 세션을 받는 연결된 호스트가 없습니다. 관리자가 멈추어 두었습니다.',
  no_host_restricts:
    '세션의 네트워크를 막거나 허용 목록으로 제한할 수 있는 호스트가 이 자원 그룹에 없습니다. 방화벽이 완전하지 않거나 에이전트가 이전 버전입니다. 관리자는 "berth admin agent ls" 명령으로 부족한 것을 볼 수 있습니다.',
  no_host_restricts_default_of_policy:
    '네트워크를 선택하지 않은 세션은 자원 정책 "{name}"에 따라 네트워크가 제한되지만, 이 자원 그룹에는 세션의 네트워크를 제한할 수 있는 호스트가 없습니다. 방화벽이 완전하지 않거나 에이전트가 이전 버전입니다. 관리자는 "berth admin agent ls" 명령으로 부족한 것을 볼 수 있습니다.',
  no_host_restricts_default_of_domain:
    '네트워크를 선택하지 않은 세션은 도메인 "{name}"에 따라 네트워크가 제한되지만, 이 자원 그룹에는 세션의 네트워크를 제한할 수 있는 호스트가 없습니다. 방화벽이 완전하지 않거나 에이전트가 이전 버전입니다. 관리자는 "berth admin agent ls" 명령으로 부족한 것을 볼 수 있습니다.',
  host_does_not_restrict:
    '호스트가 지금은 세션의 네트워크를 제한할 수 없습니다. 방화벽이 완전하지 않거나 에이전트가 이전 버전입니다.',
  no_host_isolates:
    '이 자원 그룹이 요구하는 대로 세션을 격리하는 연결된 호스트가 없습니다. 관리자는 "berth admin agent ls" 명령으로 부족한 것을 볼 수 있습니다.',
  files_on_host_without_isolation:
    '이 세션의 파일이 {host} 호스트에 있는데, 이 호스트는 자원 그룹이 요구하는 대로 세션을 격리하지 않습니다.',
  files_on_host_away:
    '이 세션의 파일이 {host} 호스트에 있는데, 이 호스트는 연결되어 있지 않거나 새 세션을 받지 않습니다.',
  files_on_other_host: '이 세션의 파일이 더는 이 자원 그룹에 속하지 않는 호스트에 있습니다.',
  storage_on_no_host: '폴더가 {storage} 스토리지에 있는데, 세션을 받는 호스트 중에 이를 마운트한 곳이 없습니다.',
  storage_not_on_host:
    '이 세션의 파일이 {host} 호스트에 있는데, 이 호스트는 폴더의 {storage} 스토리지를 마운트하지 않았습니다.',
  storage_and_image_nowhere:
    '{storage} 스토리지와 {image} 이미지가 모두 있는 호스트가 없고, 이 이미지를 제공하는 레지스트리도 없습니다.',
  storage_hosts_too_small: '폴더의 {storage} 스토리지가 있는 호스트는 이 세션에 너무 작습니다.',
  architecture_on_no_host:
    '{image} 이미지는 {architecture} 프로세서용인데, 세션을 받는 호스트 중에 이런 이미지를 실행할 수 있는 곳이 없습니다. 다른 이미지를 고르세요.',
  architecture_not_at_image:
    '{image} 이미지는 {architecture} 프로세서용입니다. 이미지가 있는 호스트는 이런 이미지를 실행할 수 없고, 이 이미지를 제공하는 레지스트리도 없습니다.',
  architecture_hosts_too_small:
    '{image} 이미지는 {architecture} 프로세서용인데, 이런 이미지를 실행할 수 있는 호스트는 이 세션에 너무 작습니다.',
  image_hosts_closed:
    '{image} 이미지가 있는 호스트는 지금 새 세션을 받지 않고, 이 이미지를 제공하는 레지스트리도 없습니다.',
  image_on_no_host: '{image} 이미지가 있는 연결된 호스트가 더는 없고, 이 이미지를 제공하는 레지스트리도 없습니다.',
  image_hosts_too_small:
    '{image} 이미지가 있는 호스트는 이 세션에 너무 작고, 이 이미지를 제공하는 레지스트리도 없습니다.',
  gpu_on_no_host:
    '사용할 수 있는 GPU 중에 선택한 GPU({gpu})가 없습니다. 있는 GPU: {models}. 이 중에서 고르거나 아무 GPU나 요청하세요.',
  gpu_without_any: '사용할 수 있는 GPU가 있는 호스트가 없으므로 선택한 GPU({gpu})도 없습니다.',
  gpu_hosts_away: '선택한 GPU({gpu})가 있는 호스트가 모두 연결이 끊겼거나 일시 중지되었습니다.',
  raised_to_minimum: '요청한 자원을 이미지의 최솟값으로 올렸습니다: {amounts}.',
  shmem_lowered: '공유 메모리는 RAM의 일부이므로 다음 크기로 줄였습니다: {amount}.',
  image_from_host: '먼저 다른 호스트에서 이미지를 복사합니다({size}). 걸리는 시간은 세션에 표시됩니다.',
  image_from_host_in:
    '먼저 다른 호스트에서 이미지를 복사합니다({size}). 최근 속도(초당 {rate})로 약 {seconds}초 걸립니다.',
  network_default_none_of_policy:
    '시작할 때 네트워크를 선택하지 않았고 자원 정책 "{name}"의 기본값이 네트워크 없음이므로, 세션에 네트워크가 없습니다.',
  network_default_none_of_domain:
    '시작할 때 네트워크를 선택하지 않았고 도메인 "{name}"의 기본값이 네트워크 없음이므로, 세션에 네트워크가 없습니다.',
  network_default_list_of_policy: '자원 정책 "{name}"의 기본값에 따라 다음 이름에만 접속할 수 있습니다: {allowed}.',
  network_default_list_of_domain: '도메인 "{name}"의 기본값에 따라 다음 이름에만 접속할 수 있습니다: {allowed}.',
  first_of_several: '세션 {count}개 중 첫 번째에 관한 답입니다. 나머지는 자리가 나면 시작합니다.',
  large_hosts_away: '이 세션을 실행할 만큼 큰 호스트는 모두 연결이 끊겼거나 멈추어 있습니다.',
  needs_largest_host: '필요: {needed}(제일 큰 호스트에 {available}).',
  needs_of_no_host: '필요: {needed}(있는 호스트가 없음).',
  gang_needs_room:
    '컨테이너 {needed}개의 자리가 동시에 있어야 합니다(호스트에 남은 자리는 {available}개). 다른 세션이 끝나면 시작합니다.',
  gang_too_large:
    '컨테이너 {needed}개의 자리가 있어야 합니다(모든 호스트를 합쳐도 최대 {available}개). 개수나 크기를 줄여 요청하세요.',
  host_networks_used: '호스트 사이의 네트워크가 모두 사용 중입니다. 여러 호스트에 걸친 다른 세션이 끝나면 시작합니다.',
  hosts_not_connected:
    '모든 컨테이너가 들어갈 호스트가 없고, 호스트 사이의 사설 네트워크 주소가 있는 호스트는 {count}개뿐입니다. 관리자에게 주소 설정을 요청하거나 더 작게 요청하세요.',
  needs_free: '필요: {needed}(남은 양은 최대 {available}).',
  needs_free_on_one: '필요: {needed}(한 호스트나 장치에 남은 양은 최대 {available}).',
  needs_none_free: '필요: {needed}(남은 것이 없음).',
  free_in_total: '모두 합하면 충분히 남아 있습니다.',
  ask_for_less: '자원을 줄여 요청하세요.',
  starts_when_others_end: '다른 세션이 끝나면 시작합니다.',
  needs_of_user: '필요: {needed}("{policy}" 자원 정책의 사용자별 한도 {limit} 중 {left} 남음).',
  needs_of_keypair: '필요: {needed}("{policy}" 자원 정책의 키 쌍별 한도 {limit} 중 {left} 남음).',
  needs_model_of_user: '필요: {needed}("{policy}" 자원 정책의 사용자별 "{model}" GPU 한도 {limit} 중 {held} 사용 중).',
  needs_model_of_keypair:
    '필요: {needed}("{policy}" 자원 정책의 키 쌍별 "{model}" GPU 한도 {limit} 중 {held} 사용 중).',
  needs_model_of_project: '필요: {needed}("{name}" 프로젝트의 "{model}" GPU 한도 {limit} 중 {held} 사용 중).',
  needs_model_of_domain: '필요: {needed}("{name}" 도메인의 "{model}" GPU 한도 {limit} 중 {held} 사용 중).',
  ask_for_other_gpu: '다른 GPU를 고르거나 개수를 줄이거나, 관리자에게 더 높은 한도를 요청하세요.',
  needs_of_project: '필요: {needed}("{name}" 프로젝트의 한도 {limit} 중 {left} 남음).',
  needs_of_domain: '필요: {needed}("{name}" 도메인의 한도 {limit} 중 {left} 남음).',
  kept_on_host: '{host} 호스트에 남은 자원은 더 오래 기다린 세션을 위해 남겨 두었습니다.',
  reserved_on_host: '다음 차례입니다. {host} 호스트에서 비는 자원을 이 세션을 위해 남겨 둡니다.',
  reserved_on_hosts:
    '다음 차례입니다. {hosts} 호스트에서 비는 자원을 이 세션을 위해 남겨 둡니다. 지금은 컨테이너 {needed}개 중 {room}개의 자리가 있습니다.',
  start_unknown: '시작 시각은 알 수 없습니다.',
  starts_by: '늦어도 {time}에 시작합니다.',
  start_unknown_away: '{host} 호스트가 연결되어 있지 않아 시작 시각을 알 수 없습니다.',
  start_unknown_amounts: '시작 시각은 알 수 없으며, {host} 호스트에 다음 자원이 비기를 기다립니다: {amounts}.',
  start_unknown_device: '시작 시각은 알 수 없으며, {host} 호스트의 한 장치에 자리가 나기를 기다립니다.',
  starts_by_amounts: '늦어도 {time}에 시작합니다. {host} 호스트에 다음 자원이 비기를 기다립니다: {amounts}.',
  starts_by_device: '늦어도 {time}에 시작합니다. {host} 호스트의 한 장치에 자리가 나기를 기다립니다.',
  idle_for_days: '세션에서 유휴 제한 시간인 {count}일 동안 아무 일도 없었습니다.',
  lived_days: '최대 수명이 끝났습니다: {count}일과 연장한 시간.',
  idle_for_hours: '세션에서 유휴 제한 시간인 {count}시간 동안 아무 일도 없었습니다.',
  lived_hours: '최대 수명이 끝났습니다: {count}시간과 연장한 시간.',
  idle_for_minutes: '세션에서 유휴 제한 시간인 {count}분 동안 아무 일도 없었습니다.',
  lived_minutes: '최대 수명이 끝났습니다: {count}분과 연장한 시간.',
  idle_for_seconds: '세션에서 유휴 제한 시간인 {count}초 동안 아무 일도 없었습니다.',
  lived_seconds: '최대 수명이 끝났습니다: {count}초와 연장한 시간.',
} satisfies Translation<typeof SESSION_CAUSES>
