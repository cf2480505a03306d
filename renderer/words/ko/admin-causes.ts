import { type ADMINISTRATION_CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Causes of errors that only administrators meet, by key. English is the server's text (`manager/contract/causes/administration.ts`). */
export default {
  mig_on_host: 'MIG 인스턴스는 호스트에서 nvidia-smi로 바꾸세요. 에이전트가 새 인스턴스를 스스로 찾습니다.',
  device_used_by: '사용하는 세션: {sessions}. 세션이 끝나기를 기다리거나 종료하세요.',
  agent_used_by:
    '{agent}에서 실행 중인 세션: {sessions}. 새 세션을 시작하지 않게 하고, 세션이 끝나기를 기다리거나 종료하세요.',
  agent_has_files: '{agent}에 다음 세션을 이어 갈 파일이 있습니다: {sessions}. 세션이 끝나기를 기다리거나 종료하세요.',
  one_holder_of_limits: '자원 정책, 프로젝트, 도메인 중 하나만 지정하세요.',
  webhook_needs_https:
    '주소는 https여야 합니다. 최고 관리자가 http 주소를 허용할 수 있습니다: berth admin settings set webhookHttp=true.',
  webhook_private:
    '사설 주소입니다: {host}. 최고 관리자가 허용할 수 있습니다: berth admin settings set webhookHosts={host}.',
  webhook_of_project: '프로젝트를 지정하세요. 설치 전체의 웹훅은 최고 관리자만 사용합니다.',
  webhook_event_of_installation: '설치 전체의 웹훅에서만 사용할 수 있는 이벤트입니다: {event}.',
  webhooks_at_most: '프로젝트와 설치 전체에 각각 {limit}개까지 만들 수 있습니다. 먼저 하나를 삭제하세요.',
  webhook_switch_on: '먼저 켜세요.',
  join_string_gone: '이 참여 문자열은 사용되었거나 삭제되었습니다. 새로 만드세요.',
  address_not_encrypted:
    '{url} 주소는 암호화되지 않아 호스트가 거부합니다. manager.advertiseUrl을 https 주소로 설정하세요.',
  host_line_over:
    '명령을 만든 지 15분이 지났거나 취소되었거나, 만든 사람이 로그아웃했거나 더 이상 관리자가 아닙니다. 명령을 새로 만드세요.',
  host_bundle_gone: '매니저가 다시 시작되었습니다. 명령을 다시 실행하세요.',
  host_bundle_not_made:
    '매니저가 호스트용 프로그램을 묶지 못했습니다. 이유는 매니저의 로그에 있습니다. 그동안은 berth-server 패키지로 호스트를 추가할 수 있습니다.',
  host_downloads: '프로그램을 동시에 받는 호스트는 최대 {limit}대입니다. 1분 뒤에 다시 시도하세요.',
  container_without_owner:
    '컨테이너의 소유자는 {owner}이며, Berth에 이 컨테이너를 넘길 수 있는 계정이 없습니다. 계정을 다시 만드세요. 본인이 다른 사람은 모르는 비밀번호를 정하면 컨테이너가 그 계정의 세션이 됩니다. 또는 컨테이너를 제거하세요.',
  container_not_waiting:
    '이 호스트에서 결정을 기다리는 컨테이너가 아닙니다. "berth admin agent unknown ls" 명령으로 목록을 볼 수 있습니다.',
  starter_left: '이 작업을 시작한 사람이 더 이상 최고 관리자가 아닙니다.',
  export_lost: '내보내는 동안 계정이 바뀌었습니다. 내보내기를 다시 시작하세요.',
  image_unknown_here: '"{image}" 이미지가 있는 에이전트나 레지스트리가 없습니다.',
  alias_is_image: '"{image}" 이미지가 이미 있습니다. 다른 별칭을 고르세요.',
  alias_taken: '"{alias}" 별칭은 "{image}" 이미지를 가리킵니다. 먼저 그 별칭을 제거하거나 다른 별칭을 고르세요.',
  agents_or_group: '에이전트와 자원 그룹 중 하나만 지정하세요.',
  no_agents_yet: '아직 참여한 에이전트가 없습니다.',
  no_agents_in_group: '"{group}" 자원 그룹에 아직 참여한 에이전트가 없습니다.',
  mail_settings_first: '먼저 smtpHost와 smtpFrom을 설정하고, 메일 서버에 필요하면 비밀번호도 설정하세요.',
  mail_server_without_starttls:
    '{server} 메일 서버는 STARTTLS를 지원하지 않습니다. smtpSecurity를 tls(대개 465번 포트) 또는 none으로 설정하세요. 서버의 응답: {text}',
  mail_server_says: '메일 서버 {server}: {text}',
  default_policy_stays: '새 사용자와 키 쌍이 "{policy}" 정책을 받으므로 삭제할 수 없습니다.',
  policy_used: '"{policy}" 정책을 쓰는 사용자나 키 쌍이 있습니다. 먼저 다른 정책을 주세요.',
  policy_unknown: '"{policy}" 자원 정책이 없습니다.',
  preset_unknown: '"{preset}" 프리셋이 없습니다.',
  preset_needs_both: '프리셋에는 CPU와 RAM이 모두 필요합니다.',
  shmem_within_mem: '공유 메모리는 RAM(mem)의 일부이므로 더 클 수 없습니다.',
  engine_with_live_sessions:
    '이 자원 그룹에 실행 중이거나 대기 중인 세션이 {count}개 있습니다. 엔진은 그런 세션이 없을 때만 바뀝니다.',
  default_group_stays: '자원 그룹을 지정하지 않은 요청이 이 그룹을 쓰므로 삭제할 수 없습니다.',
  agents_still_in_it: '아직 에이전트 {count}개가 있습니다({agents}). 다른 그룹으로 옮기거나 목록에서 제거하세요.',
  token_server_strange: '레지스트리가 지정한 토큰 서버는 Berth가 비밀번호를 보내지 않는 곳입니다.',
  token_server_no_token: '레지스트리의 토큰 서버가 토큰 없이 {status} 상태로 응답했습니다.',
  registry_password_refused:
    '레지스트리가 사용자 {user}의 비밀번호를 받아들이지 않거나, 그 사용자에게 권한이 없습니다.',
  registry_password_needed: '레지스트리에 사용자 이름과 비밀번호가 필요합니다.',
  docker_hub_did_not_list: 'Docker Hub에서 {namespace} 목록을 받지 못했습니다(HTTP {status}). 이름을 확인하세요.',
  address_not_connected: 'Berth는 다음 주소에 연결하지 않습니다: {host}',
  redirect_not_followed: '{host} 서버가 Berth가 따라가지 않는 주소로 안내합니다.',
  server_not_in_time: '{server} 서버가 제시간에 응답하지 않았습니다.',
  server_says: '{server} 서버: {text}',
  answer_too_long: '응답이 {bytes}바이트보다 깁니다.',
  registry_rate_limit: '레지스트리의 요청 수 한도를 다 써서 지금은 요청을 받지 않습니다. 나중에 다시 시도하세요.',
  server_not_available: '{server} 서버를 사용할 수 없습니다(HTTP {status}).',
  registry_list_too_long: '레지스트리가 보내는 목록이 너무 깁니다.',
  registry_list_circle: '레지스트리 목록의 페이지가 되풀이되거나 다른 서버로 이어집니다.',
  not_a_registry: '이 주소는 레지스트리로 응답하지 않습니다: /v2/ 경로에서 HTTP {status}.',
  registry_answer_unreadable: '레지스트리의 응답을 읽을 수 없습니다({what}, HTTP {status}).',
  registry_not_active: '레지스트리가 비활성 상태입니다. 먼저 활성화하세요.',
  registry_unknown: '"{registry}" 레지스트리가 없습니다.',
  user_and_password: '사용자 이름과 비밀번호를 모두 입력하거나 모두 비우세요.',
  docker_hub_no_catalogue: 'Docker Hub에는 카탈로그가 없습니다. 검색할 네임스페이스나 저장소를 지정하세요(projects).',
  registry_no_catalogue: '레지스트리가 카탈로그를 보여 주지 않습니다. 검색할 저장소를 지정하세요(projects).',
  registry_address_form: '주소는 https://cr.example.org:5000처럼 프로토콜, 호스트, 포트로만 이루어져야 합니다.',
  registry_name_is_host: '레지스트리의 이름은 주소의 호스트여야 합니다. 필요한 이름: {expected}, 입력한 호스트: {host}',
  registry_link_local: '레지스트리는 링크 로컬 주소나 클라우드가 자격 증명을 제공하는 주소를 가질 수 없습니다.',
  registry_in_clear:
    'http://는 이미지와 비밀번호를 암호화하지 않고 보냅니다. https://를 쓰거나, 알고 있다고 표시하세요(allowHttp).',
  choose_other_id: '다른 ID를 고르세요.',
  domain_without_project: '"{domain}" 도메인에 "{project}" 프로젝트가 없습니다.',
  name_taken: '"{name}" 이름이 이미 있습니다. 다른 이름을 고르세요.',
  own_domain_stays: '자신의 도메인은 비활성화할 수 없습니다.',
  default_domain_stays: '도메인을 지정하지 않은 새 사용자가 이 도메인을 받으므로 삭제할 수 없습니다.',
  domain_has_users: '도메인에 사용자 {count}명이 있습니다. 비활성 사용자도 다른 도메인으로 옮기세요.',
  domain_has_projects: '도메인에 "{usual}" 외에 프로젝트 {count}개가 있습니다. 먼저 삭제하세요.',
  domain_of_sign_up: '가입하는 사람이 이 도메인을 받습니다. 먼저 `signUpDomain`을 다른 도메인으로 바꾸세요.',
  default_project_stays: '새 사용자가 이 프로젝트에 들어갑니다. 도메인과 함께 삭제됩니다.',
  domain_has_project: '"{domain}" 도메인에 "{project}" 프로젝트가 이미 있습니다. 다른 이름을 고르세요.',
  sessions_not_ended: '끝나지 않은 세션이 {count}개 있습니다. 먼저 종료하세요.',
  projects_own_folders: '프로젝트가 폴더 {count}개를 갖고 있습니다. 먼저 휴지통에서도 삭제하세요.',
  folders_being_deleted: '폴더 {count}개의 파일을 아직 삭제하고 있습니다. 나중에 다시 시도하세요.',
  still_members: '아직 구성원 {count}명이 있습니다.',
  still_invitations: '아직 열린 초대 {count}개가 있습니다.',
  still_records: '아직 종료된 세션의 기록 {count}개가 있습니다.',
  purge_deletes: '이것도 삭제하려면 먼저 "{name}" 항목을 비활성화한 다음 "purge"로 삭제하세요.',
  purge_of_active: '"{name}" 항목이 활성 상태입니다. 모두 삭제하기 전에 비활성화하세요.',
  account_not_active: '{email} 계정이 활성 상태가 아닙니다. 먼저 활성화하세요.',
  address_confirmed: '{email} 주소는 이미 확인되었습니다.',
  only_superadmin_invites: '최고 관리자만 다른 도메인에 초대할 수 있습니다.',
  invitation_used: '알 수 없거나 이미 사용된 초대입니다.',
  sign_up_request_gone: '다른 관리자가 요청을 처리했거나 요청이 만료되었을 수 있습니다.',
  no_second_factor_of: '{email} 계정에는 2단계 인증이 없습니다.',
  other_superadmin_first: '먼저 비밀번호가 있는 다른 사용자를 최고 관리자로 지정하세요.',
  import_column: '{column} 열: {text}',
  no_first_admin: '{email} 계정이 없습니다.',
  agent_unknown: '{agent} 에이전트가 없습니다.',
  pull_failed_on: '에이전트 {all}개 중 {failed}개가 이미지를 가져오지 못했습니다.',
  registry_address_scheme: '주소는 https://(또는 http://)로 시작해야 합니다.',
  manager_not_running: '그런 매니저가 더 이상 없습니다. 실행 중인 매니저는 "berth admin manager ls"로 볼 수 있습니다.',
  manager_silent: '매니저가 제때 응답하지 않았거나 종료되었습니다.',
  doctor_no_result: 'berth doctor가 결과를 내지 않았습니다.',
  minimum_below_label:
    '{slots}의 최솟값이 이제 이미지의 라벨에 있는 값보다 작습니다. 세션이 시작되지 않거나 제대로 동작하지 않을 수 있습니다.',
  invitation_while_closed:
    '최고 관리자가 allowSignUp 설정을 "invitation"으로 바꿀 때까지 초대가 있어도 가입할 수 없습니다.',
  managers_of_versions: '서로 다른 버전의 매니저가 이 데이터베이스를 씁니다: {managers}. 모두 같은 버전으로 맞추세요.',
  manager_ahead_of_database:
    '{manager} 매니저의 시계가 데이터베이스의 시계보다 {seconds}초 빠릅니다. 둘 다 시간 서버와 동기화하세요.',
  manager_behind_database:
    '{manager} 매니저의 시계가 데이터베이스의 시계보다 {seconds}초 느립니다. 둘 다 시간 서버와 동기화하세요.',
  agents_not_dialling: '에이전트 {all}개 중 {count}개가 {manager} 매니저에 연결하지 못합니다.',
  agents_through_another: '{count}개는 다른 매니저를 거쳐 연결합니다.',
  agents_without_connection: '{count}개는 연결되어 있지 않습니다.',
  check_advertised_address: '그 매니저의 BERTH_ADVERTISE_URL과 인증서, 그 사이의 방화벽을 확인하세요.',
  database_clock_forward:
    '데이터베이스의 시계가 앞으로 건너뛰었습니다({time}). 시계를 맞추었거나 컴퓨터가 절전 상태였습니다. 시간 서버와 동기화하세요.',
  database_clock_back:
    '데이터베이스의 시계가 뒤로 돌아갔습니다({time}). 시계를 맞추었거나 컴퓨터가 절전 상태였습니다. 시간 서버와 동기화하세요.',
  resources_of_ended_session: '{session} 세션은 실행 중이 아닌데 자원을 계속 차지하고 있었습니다. 자원을 반환했습니다.',
  record_of_other_amounts: '{session} 세션의 자원량이나 장치 기록이 컨테이너와 달랐습니다. 기록을 바로잡았습니다.',
  recorded_container_gone:
    '{session} 세션이 {agent} 에이전트에서 실행 중이라고 기록되어 있었지만 컨테이너가 없습니다. 기록을 바로잡았습니다.',
  recorded_container_ended:
    '{session} 세션이 {agent} 에이전트에서 실행 중이라고 기록되어 있었지만 컨테이너가 끝났습니다. 기록을 바로잡았습니다.',
  container_imported:
    '{session} 세션의 컨테이너가 기록 없이 {agent} 에이전트에서 실행되고 있었습니다. 세션을 가져왔습니다.',
  container_orphaned:
    '{agent} 에이전트에서 실행되던 컨테이너의 세션은 끝났거나, 다른 곳에서 실행 중이거나, 그런 컨테이너가 없습니다. 컨테이너를 제거합니다.',
  invitation_domain_inactive: '"{domain}" 도메인이 비활성 상태입니다. 도메인을 다시 활성화하면 링크를 쓸 수 있습니다.',
  cert_key_of_other: '{key} 파일의 키가 {cert} 파일의 인증서에 속하지 않습니다. 한 주문의 두 파일을 지정하세요.',
  cert_ended: '{cert} 파일의 인증서가 {time}에 끝났습니다. 갱신하고 두 파일을 바꾸세요.',
  cert_not_yet: '{cert} 파일의 인증서는 {time}부터 유효합니다. 이 컴퓨터의 시계를 확인하거나 다른 인증서를 지정하세요.',
  cert_no_pem:
    '{file} 파일에 PEM 형식의 인증서("-----BEGIN CERTIFICATE-----")가 없습니다. 변환하세요: openssl x509 -inform DER -in FILE.',
  cert_damaged: '{file} 파일의 인증서가 손상되었습니다. 파일을 다시 복사하세요.',
  cert_key_encrypted:
    '{file} 파일의 키가 암호화되어 있는데, Berth는 비밀번호를 입력할 사람 없이 시작합니다. 암호 없이 권한이 0600인 파일에 쓰세요: openssl pkey -in FILE -out NEW-FILE.',
  cert_no_key: '{file} 파일에 PEM 형식의 개인 키("-----BEGIN PRIVATE KEY-----")가 없습니다.',
  cert_key_open: '다른 사용자가 {file} 파일의 키를 읽을 수 있습니다. 실행하세요: chmod 600 {file}',
  cert_file_unreadable:
    '{file} 파일을 읽을 수 없습니다({errno}). 경로가 맞는지, Berth의 사용자가 읽을 수 있는지 확인하세요.',
  cert_not_issued_http:
    '{authority} 인증 기관이 {names} 인증서를 발급하지 않았습니다: {text}. 인증 기관이 이 이름들의 80번 포트에 연결할 수 있어야 하며, 그곳에서 console.tls.httpPort가 기다립니다. Berth가 스스로 다시 시도합니다.',
  cert_not_issued_dns:
    '{authority} 인증 기관이 {names} 인증서를 발급하지 않았습니다: {text}. {program} 프로그램이 하는 일을 확인하세요. Berth가 스스로 다시 시도합니다.',

  // SCIM과 사람 디렉터리
  scim_tokens_at_most: '도메인 하나에 SCIM 토큰은 {limit}개까지입니다. 쓰지 않는 것을 끝내세요.',
  directory_address: 'Berth는 {host}에 연결하지 않습니다. 이런 주소는 컴퓨터의 자격 증명을 내줍니다.',
  directory_away: '{host}에 연결할 수 없습니다({reason}). 주소, 포트, 방화벽을 확인하세요.',
  directory_base: '디렉터리에 "{base}" 항목이 보이지 않습니다(LDAP 결과 {code}). base와 bindDn의 권한을 확인하세요.',
  directory_bind:
    '디렉터리가 계정 "{account}"의 로그인을 거부합니다(LDAP 결과 {code}). bindDn과 비밀번호를 확인하세요.',
  directory_broken: '디렉터리와의 연결이 끊겼습니다. 다시 시도하세요. 원인은 매니저 로그에 있습니다.',
  directory_busy: '디렉터리가 바쁩니다. 잠시 후 다시 시도하세요.',
  directory_filter: '필터를 읽을 수 없습니다: "{filter}". (uid=ada)처럼 각 부분에 괄호가 필요합니다.',
  directory_groups:
    '"{base}" 아래의 그룹을 검색할 수 없습니다(LDAP 결과 {code}). groupBase와 groupFilter를 확인하세요.',
  directory_name: '{host}의 주소를 찾지 못했습니다. 이름과 매니저의 이름 서버를 확인하세요.',
  directory_needs_account: '검색할 계정이 필요합니다. bindDn과 비밀번호를 설정하세요.',
  directory_needs_tls:
    '비밀번호가 암호화되지 않은 채 네트워크를 지나게 됩니다. ldaps:// 주소를 쓰거나 startTls를 켜세요. 암호화 없는 ldap://는 이 컴퓨터에서만 됩니다.',
  directory_no_id: '사람의 항목에 "{attribute}" 속성이 없습니다. idAttribute를 확인하세요.',
  directory_no_person: '"{base}" 아래에 이름 "{username}" 및 조건 {filter}에 맞는 사람이 없습니다.',
  directory_one_bind: 'bindDn과 비밀번호, 또는 directBind 중 하나만 설정하세요.',
  directory_search: '"{base}" 아래의 사람을 검색할 수 없습니다(LDAP 결과 {code}). base와 userFilter를 확인하세요.',
  directory_several: '{filter}에 여러 사람이 맞습니다. 한 사람만 맞을 때까지 아무도 로그인할 수 없습니다.',
  directory_slow: '{host}에서 제때 응답하지 않습니다. 주소, 포트, 방화벽을 확인하세요.',
  directory_starttls: '{host}에서 StartTLS를 제공하지 않습니다. ldaps:// 주소를 쓰거나 서버에 TLS를 설정하세요.',
  directory_template: '{setting}에서 사람의 이름이 들어갈 자리에 {place} 표시가 필요합니다.',
  directory_tls: '{host}의 인증서를 신뢰할 수 없습니다({reason}). 인증서의 이름과 날짜, caCertificates를 확인하세요.',
  provider_needs: '이 종류의 제공자에는 다음 설정이 필요합니다: {names}.',
  provider_takes_not: '이 종류의 제공자에는 다음 설정이 없습니다: {names}.',
} satisfies Translation<typeof ADMINISTRATION_CAUSES>
