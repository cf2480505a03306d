import { type HOST_CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Causes that agents report about their hosts, by key. English is the agent's text (`manager/contract/causes/host.ts`). */
export default {
  start_up_script_runs: '시작 스크립트가 아직 실행 중입니다. 끝나면 앱이 시작됩니다. 출력은 세션의 로그에 있습니다.',
  docker_says: 'Docker 메시지: {text}',
  docker_disk_full: 'Docker 엔진의 디스크에 공간이나 아이노드, 할당량이 남아 있지 않습니다.',
  docker_overloaded: '호스트의 Docker에 부하가 심해 제시간에 응답하지 않았습니다.',
  docker_silent: '호스트의 Docker가 응답하지 않습니다.',
  docker_not_read: '에이전트가 아직 Docker의 상태를 읽지 않았습니다.',
  docker_not_started: 'Docker가 컨테이너를 시작하지 못했습니다: {text}',
  proxy_port_taken:
    '호스트의 다른 프로그램이 허용 목록 세션의 프록시가 쓸 {address}에서 수신 중입니다. 관리자는 그 프로그램을 종료하거나 BERTH_AGENT_PROXY_PORT를 설정하세요.',
  docker_refused_networks: 'Docker가 세션의 네트워크를 모두 거부했습니다.',
  session_needs_some: '세션에는 CPU와 6 MiB 이상의 메모리가 필요합니다.',
  host_has_cpus: '호스트의 CPU는 {cpus}개인데 세션은 {asked}개를 요청합니다.',
  host_has_memory: '호스트의 메모리는 {bytes}바이트인데 세션은 {asked}바이트를 요청합니다.',
  image_has_no_program:
    '이미지에 자체 프로그램이 없습니다(ENTRYPOINT와 CMD가 비어 있음). 시작 명령을 지정하여 시작하세요.',
  image_does_not_fit:
    '이미지가 맞지 않습니다. {path} 경로가 폴더여야 하는데 파일이거나, 파일이어야 하는데 폴더입니다. 다른 이미지를 쓰거나 이미지에서 이 경로를 제거하세요.',
  gpu_limit_not_set: 'GPU {gpu}의 메모리 한도를 설정하지 못했습니다: {text}',
  engine_without_gpus:
    '엔진이 GPU를 내줄 수 없습니다. CDI로 알리는 GPU가 없고 NVIDIA 런타임도 없습니다. 관리자: 호스트에서 berth doctor를 실행하세요.',
  gpu_of_no_plugin: '에이전트가 이 GPU의 제조사를 모릅니다. 관리자: 에이전트를 업데이트하세요.',
  amd_engine_elsewhere: '엔진이 에이전트와 다른 컴퓨터에서 실행되므로 에이전트가 보는 AMD GPU를 줄 수 없습니다.',
  gpu_not_in_cdi:
    '엔진이 이 GPU를 내줄 수 없습니다. 다른 GPU는 CDI로 알리지만 이 GPU는 없습니다. 관리자: 호스트에서 실행하세요: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml',
  gpu_index_moved:
    '엔진이 다른 GPU를 내주어 세션을 중지했습니다. 요청: {asked}, 확인: {found}. 호스트의 CDI 파일이 GPU를 번호로 부르는데 번호가 바뀌었습니다. 관리자: 호스트에서 실행하세요: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml',
  gpu_not_checked:
    '엔진이 GPU를 번호로 부르는데, 세션이 어느 GPU를 받았는지 nvidia-smi로 확인하지 못했습니다: {text}. 관리자: 호스트에서 실행하세요: nvidia-ctk cdi generate --device-name-strategy=uuid --output=/etc/cdi/nvidia.yaml',
  app_takes_arguments: '앱이 "{name}" 인수를 받지 않습니다. 받는 인수: {taken}',
  app_takes_no_arguments: '앱이 "{name}" 인수를 받지 않습니다. 받는 인수가 없습니다.',
  app_takes_variables: '앱이 "{name}" 변수를 받지 않습니다. 받는 변수: {taken}',
  app_takes_no_variables: '앱이 "{name}" 변수를 받지 않습니다. 받는 변수가 없습니다.',
  registry_has_other:
    '레지스트리의 {reference} 이미지가 그사이 바뀌었습니다. 새 이미지를 쓰려면 세션을 다시 시작하세요.',
  transfer_broken:
    '이미지를 주는 호스트와의 연결이 여러 번 끊겼습니다. 다시 시도하세요. 이미 받은 레이어는 남아 있습니다.',
  transfer_giver_says: '이미지를 주는 호스트의 메시지: {text}',
  transfer_not_it: '다른 호스트가 보낸 파일이 이 이미지의 파일이 아니어서 지웠습니다.',
  transfer_too_large: '다른 호스트가 이 이미지보다 많은 데이터를 보내서 지웠습니다.',
  transfer_other_store:
    '두 호스트의 엔진이 이미지를 보관하는 방식이 달라 이미지의 ID가 서로 다릅니다. 이미지를 레지스트리에 올린 뒤 가져오세요.',
  transfer_no_room:
    '이미지를 받을 디스크 공간이 부족합니다({path}). 필요: {needed}, 남음: {left}. 공간을 확보한 뒤 다시 시도하세요.',
  transfer_no_giver:
    '연결된 호스트 중에 {image} 이미지가 있는 곳이 없습니다. 한 호스트에서 빌드하거나 불러오거나, 레지스트리에서 가져오세요.',
  transfer_several:
    '호스트마다 {image}에 해당하는 이미지가 다릅니다({digests}). 복사할 이미지의 다이제스트를 지정하세요.',
  transfer_waited: '다른 호스트가 제때 이미지를 보내지 않았습니다. 다시 시도하세요.',
  pulled_image_gone: '이미지를 가져왔지만 호스트에 없습니다. 세션을 다시 시작하세요.',
  made_image_gone: '이미지를 만들었지만 호스트에 없습니다.',
  service_definition_wrong: '이미지에 있는 이 서비스의 정의를 사용할 수 없습니다: {text}',
  app_without_options: 'Berth가 시작하는 앱이 아니므로 옵션을 줄 수 없습니다.',
  app_ended: '앱이 끝났습니다(종료 코드 {exitCode}).',
  session_has_ended: '세션이 끝났습니다.',
  app_port_closed: '앱이 {seconds}초 안에 포트 {port}번을 열지 않았습니다.',
  app_does_not_end: '앱이 끝나지 않아 다른 옵션으로 시작할 수 없습니다.',
  nothing_listens: '세션에서 포트 {port}번을 여는 프로그램이 없습니다.',
  end_of_output: '출력의 끝부분: {output}',
  container_removed_starting: '컨테이너가 시작되는 동안 Berth가 아닌 다른 곳에서 제거되었습니다.',
  session_files_deleted: '세션의 파일이 삭제되었습니다. 새 세션을 시작하세요.',
  session_files_replaced: '세션의 파일이 있던 곳에 다른 것이 있습니다. 새 세션을 시작하세요.',
  folder_of_other_uid:
    '{path} 폴더의 파일은 소유자 uid가 {owner}인데 이 호스트의 세션은 uid가 {uid}입니다. 스토리지를 함께 쓰는 호스트는 uid가 같아야 합니다. 관리자가 각 호스트의 berth-session 계정에 같은 uid를 주어야 합니다.',
  attempt_ended: '이번 시도의 컨테이너는 이미 끝났습니다.',
  attempt_in_progress: '{attempt}번째 시도가 이미 진행 중입니다.',
  agent_not_joined: '에이전트가 아직 매니저에 참여하지 않았습니다.',
  agent_stopping: '에이전트가 멈추고 있습니다.',
  container_start_late: '컨테이너가 {seconds}초 안에 시작되지 않았습니다.',
  host_directory_apart: '호스트의 에이전트와 Docker 엔진이 같은 파일을 보지 못합니다. 관리자가 호스트를 고쳐야 합니다.',
  host_without_toolbox:
    '세션을 시작하는 데 필요한 Berth의 툴박스가 호스트에 없습니다. 관리자가 호스트를 고쳐야 합니다.',
  host_starts_nothing: '호스트의 Docker 엔진이 컨테이너를 전혀 시작하지 못합니다. 관리자가 호스트를 고쳐야 합니다.',
  host_gpu_failed: '호스트의 GPU가 작동하지 않습니다. 관리자가 호스트를 고쳐야 합니다.',
  host_unhealthy: '호스트에 문제가 있어 고칠 때까지 세션을 받지 않습니다.',
  storage_away_on_host:
    '호스트에 마운트되지 않았거나 응답하지 않는 스토리지: {storage}. 이 스토리지가 필요한 세션은 다른 호스트에서만 시작합니다.',
  host_disk_short: '호스트의 디스크에 새 세션을 위한 공간이 부족합니다.',
  all_variants_folders: '{path} 경로와 번호를 붙인 99개 이름이 모두 폴더입니다. 하나를 제거하세요.',
  disk_of_path_full: '{path} 경로의 디스크에 공간이나 아이노드가 남아 있지 않습니다({code}).',
  disk_of_path_quota: '{path} 경로의 디스크가 할당량을 다 썼습니다({code}).',
  ssh_keys_not_renewed: '세션의 SSH 키를 새로 만들지 못했습니다. {output}',
  network_range_used_up:
    '{range} 범위에 남은 /28이 없습니다. 세션을 종료하거나 에이전트에 더 큰 BERTH_AGENT_NETWORK_RANGE를 주세요.',
  network_range_overlaps:
    '{range} 범위가 {device}의 {route} 경로와 겹칩니다. 에이전트를 다른 BERTH_AGENT_NETWORK_RANGE로 시작하세요.',
  mount_over_file: '폴더를 마운트할 "{path}" 경로에 세션 홈의 파일이 있습니다. 다른 경로를 선택하세요.',
  folder_path_taken:
    '세션의 홈에서 "{path}" 경로나 그 중간에 이미 다른 것이 있습니다. 다른 경로를 선택하거나 그것을 옮기세요.',
  folder_busy:
    '세션의 프로그램이 "{path}"의 파일을 열어 두었거나 그 디렉터리에서 실행 중입니다. 파일을 닫고 디렉터리에서 나오세요. 강제로 빼면 폴더가 바로 사라지고 프로그램에는 열어 둔 파일만 남습니다.',
  folders_container_older:
    '이 세션의 컨테이너에는 폴더를 더할 자리가 없습니다. 이전 버전의 Berth가 만들었거나, 만들 때 호스트에서 자리를 마련하지 못했습니다. 세션을 다시 시작하세요.',
  folders_agent_apart:
    '호스트의 에이전트가 Docker와 다른 마운트 네임스페이스에서 실행되어, 에이전트가 마운트한 것이 세션에 나타나지 않습니다. 관리자: Docker와 나란히 실행하는 방법은 docs/admin/storage.md에 있습니다.',
  folders_agent_not_root: '호스트의 에이전트가 root로 실행되지 않아 폴더를 마운트할 수 없습니다.',
  folders_cannot_mount: '호스트의 에이전트가 폴더를 마운트할 수 없습니다. {text}',
  folder_not_seen: '"{path}"의 폴더를 호스트에 마운트했지만 세션에 나타나지 않았습니다.',
  storage_of_folder_away:
    '"{path}" 경로에 마운트할 폴더의 스토리지가 이 호스트에 마운트되지 않았거나 응답하지 않습니다.',
  storage_of_folder_closed:
    '이 호스트의 에이전트는 "{path}" 경로에 마운트할 폴더의 스토리지를 볼 권한이 없습니다. 관리자가 이 호스트에 공유를 no_root_squash로 내보내거나 에이전트를 매니저와 같은 사용자로 실행해야 합니다.',
  files_of_mount_gone:
    '"{path}" 경로에 마운트할 폴더의 파일이 더는 스토리지에 없습니다. 이 폴더 없이 세션을 시작하세요.',
  toolbox_image_missing:
    '{image} 이미지가 없습니다. 그 호스트에서 "berth admin image build toolbox"를 실행하거나 "docker load"로 이미지를 불러오세요.',
  toolbox_not_ours:
    '{image} 이미지는 이 이름으로 Berth가 만든 이미지가 아닙니다. 그 호스트에서 "berth admin image build toolbox"를 실행하거나 "docker load"로 올바른 이미지를 불러오세요.',
  toolbox_volume_not_filled: '{image} 이미지로 {volume} 볼륨을 채우지 못했습니다.',
  request_unknown: '에이전트가 "{request}" 요청을 모릅니다. 에이전트를 매니저와 같은 버전으로 업데이트하세요.',
  agent_refuses_request: '에이전트가 요청을 거부했습니다: {text}',
  request_cancelled: '매니저가 요청을 취소했습니다.',
  engine_is_podman:
    '엔진이 Podman입니다. Berth는 Podman에서 시험되지 않았고 세션이 실패합니다. Docker 엔진 20.10 이상을 설치하거나 DOCKER_HOST를 그 엔진으로 설정하세요.',
  docker_host_form:
    'DOCKER_HOST 값이 "{value}"입니다. unix:///var/run/docker.sock이나 tcp://10.0.0.5:2375와 같은 형식이어야 합니다.',
  home_bytes_over: '/home/work에 있는 세션의 파일 크기가 한도를 넘었습니다. 크기: {size}, 이 호스트의 한도: {limit}',
  outside_bytes_over:
    '/home/work 밖에 있는 세션의 파일 크기가 한도를 넘었습니다. 크기: {size}, 이 호스트의 한도: {limit}',
  home_files_over: '세션이 /home/work에 파일과 폴더를 {count}개 만들었습니다. 이 호스트의 한도는 {limit}개입니다.',
  outside_files_over:
    '세션이 /home/work 밖에 파일과 폴더를 {count}개 만들었습니다. 이 호스트의 한도는 {limit}개입니다.',
  disk_filled_by_bytes:
    '호스트의 디스크가 거의 가득 찼고(남은 공간 {left}) 이 세션이 가장 많이 썼습니다(몇 분 사이 {written}). 파일을 지우거나 관리자에게 공간을 요청하세요.',
  disk_filled_by_files:
    '호스트의 디스크에 파일을 더 만들 자리가 거의 없고(남은 파일 수 {left}) 이 세션이 가장 많이 만들었습니다(몇 분 사이 {written}개). 파일을 지우거나 관리자에게 공간을 요청하세요.',
  gpu_of_session_failed:
    '세션의 GPU({model})에 문제가 있습니다. 프로그램이 실패하거나 잘못된 결과를 낼 수 있습니다. 필요한 것을 저장하고 다른 GPU에서 세션을 시작하십시오. 원인은 관리자에게 보입니다.',
  gpu_share_passed:
    '세션의 GPU 메모리 사용량이 제 몫을 넘었습니다. 사용량: {used}, 몫: {share}. 덜 쓰거나 더 큰 몫으로 시작하십시오.',
  gpu_share_passed_unclaimed:
    '세션의 GPU 메모리 사용량이 제 몫을 넘었습니다. 사용량: {used}, 몫: {share}. 그 가운데 {unclaimed}: 관리 메모리(managed memory)처럼 드라이버가 어느 프로세스의 것으로도 세지 않는 메모리입니다. 덜 쓰거나 더 큰 몫으로 시작하십시오.',
  gpu_share_warned:
    '세션의 GPU 메모리 사용량이 제 몫을 넘었습니다. 사용량: {used}, 몫: {share}. 계속 넘으면 호스트가 세션을 종료합니다.',
  gpu_share_told:
    '세션의 GPU 메모리 사용량이 제 몫을 넘었습니다. 사용량: {used}, 몫: {share}. 나머지는 다른 세션에 필요합니다.',
  epoll_used_up: '세션이 다른 세션도 써야 하는 호스트의 epoll 감시 {watches}개를 되풀이하여 거의 다 썼습니다.',
  in_flight_used_up:
    '세션이 Unix 소켓으로 전달 중인 디스크립터를 되풀이하여 너무 많이 두었습니다. 호스트의 모든 세션이 합하여 {descriptors}개까지 쓸 수 있습니다.',
  signals_used_up:
    '세션이 대기 중인 시그널과 타이머를 되풀이하여 너무 많이 두었습니다. 호스트의 모든 세션이 합하여 {signals}개까지 쓸 수 있습니다.',
  inotify_used_up:
    '세션이 다른 세션도 써야 하는 호스트의 inotify 인스턴스 {instances}개나 감시 {watches}개를 되풀이하여 거의 다 썼습니다.',
} satisfies Translation<typeof HOST_CAUSES>
