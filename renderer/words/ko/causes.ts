import { type CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Causes of errors by key. English is the server's text (`manager/contract/causes/causes.ts`). */
export default {
  slurm_without_shares:
    'Slurm은 GPU를 통째로만 할당합니다. GPU를 통째로 요청하거나 다른 자원 그룹을 선택하세요(지금은 "{group}").',
  slurm_elsewhere:
    'Slurm이 운영하지 않는 자원 그룹에서는 Slurm의 설정을 고를 수 없습니다(지금은 "{group}"). 이 설정을 빼거나 다른 자원 그룹을 선택하세요.',
  slurm_time_over: '자원 그룹 "{group}"의 세션은 시간 제한을 최대 {minutes}분까지 고를 수 있습니다.',
  slurm_person_unknown:
    '자원 그룹 "{group}"의 세션은 Slurm에서 소유자의 작업으로 실행되는데, {email}에 해당하는 Slurm 사용자가 없습니다. 관리자에게 추가를 요청하거나 다른 자원 그룹을 선택하세요.',
  slurm_person_doubtful:
    '자원 그룹 "{group}"의 세션은 Slurm에서 소유자의 작업으로 실행되는데, 도메인 관리자가 {email}의 비밀번호를 알고 있을 수 있습니다. 로그인 화면에서 ‘비밀번호를 잊으셨나요?’를 누르거나, 최고 관리자에게 링크를 요청하거나, 다른 자원 그룹을 선택하세요.',
  slurm_not_offered: '자원 그룹 "{group}"에서 고를 수 없는 값입니다({setting}: "{value}"). 고를 수 있는 값: {offered}.',
  slurm_offers_none: '자원 그룹 "{group}"에서는 고를 수 없는 설정입니다({setting}). 빼고 다시 요청하세요.',
  slurm_without_mig:
    '자원 그룹 "{group}"에서는 Slurm이 GPU를 통째로만 할당하므로 MIG 인스턴스({gpu})를 쓸 수 없습니다. 모델이나 메모리를 고르거나 다른 자원 그룹을 선택하세요.',
  // 로컬 프록시
  browser_elsewhere:
    '이 브라우저는 Berth와 다른 컴퓨터에서 실행됩니다. 내 컴퓨터에서 데스크톱 앱이나 berth 명령을 사용하세요.',
  browser_unproven:
    'Berth는 이 브라우저가 같은 컴퓨터에서 실행되는지 알지 못합니다. "이 컴퓨터"에 표시되는 명령으로 확인하세요. 데스크톱 앱과 berth 명령은 확인이 필요 없습니다.',
  browser_other_account:
    'SSH 파일은 Berth를 실행하는 계정에 저장되는데, 그 계정은 내 계정이 아닙니다. "berth ssh" 명령이나 데스크톱 앱을 사용하세요. 앱과 포트는 이 브라우저에서 열립니다.',
  browser_user_hidden:
    '이 컴퓨터의 어느 사용자가 이 브라우저를 실행했는지 알 수 없습니다. 다시 시도하세요. 프록시나 전달된 포트를 거친다면 "berth up"이 출력하는 링크나 데스크톱 앱을 사용하세요.',

  // 로그인
  account_deactivated: '관리자가 계정을 비활성화했습니다.',
  account_or_domain_deactivated: '관리자가 계정이나 도메인을 비활성화했습니다.',
  agree_to_terms: '먼저 약관에 동의하세요.',
  ask_admin_for_account: '관리자에게 계정을 요청하세요.',
  ask_admin_for_link: '관리자에게 링크를 요청하세요.',
  ask_for_new_invitation: '새 초대장을 요청하세요.',
  ask_for_new_link: '새 링크를 요청하세요. 이 링크를 이미 사용했다면 그냥 로그인하세요.',
  choose_new_password: '관리자가 새 비밀번호를 정하도록 요청했습니다.',
  choose_other_password: '다른 비밀번호를 선택하세요.',
  choose_other_password_or_sign_in: '다른 비밀번호를 선택하거나 이 비밀번호로 로그인하세요.',
  code_from_app: '지금 앱에 표시된 코드를 입력하세요.',
  code_from_app_or_recovery: '지금 앱에 표시된 코드나 복구 코드를 입력하세요.',
  confirm_by_mail: '받은 메일의 링크를 여세요. 메일이 오지 않았다면 관리자에게 주소 확인을 요청하세요.',
  domain_deactivated: '관리자가 "{domain}" 도메인을 비활성화했습니다. 도메인의 관리자에게 문의하세요.',
  domain_deactivated_sign_up: '관리자가 "{domain}" 도메인을 비활성화했습니다. 관리자에게 문의하세요.',
  import_without_mail: '메일 없이 가져오세요. 결과에 전달할 링크가 있습니다.',
  invitation_needed: '가입하려면 초대장이 필요합니다. 관리자에게 요청하세요.',
  keypair_deactivated: '키 쌍을 활성화하거나 다른 키 쌍을 사용하세요.',
  keypair_used: '대신 키 쌍을 비활성화하세요.',
  login_check_both: '두 가지를 확인하고 다시 시도하세요.',
  many_sign_ins: '지금 로그인하는 사람이 많습니다. 몇 초 뒤에 다시 시도하세요.',
  not_yourself: '자신을 비활성화하거나 자신의 역할과 도메인을 바꿀 수 없습니다.',
  old_password_wrong: '현재 비밀번호가 틀렸습니다.',
  password_of_sign_up: '가입할 때 정한 비밀번호를 입력하세요.',
  password_rule: '비밀번호는 글자, 숫자, 특수 문자를 포함하여 8자 이상이어야 합니다.',
  password_wrong: '비밀번호가 틀렸습니다.',
  second_factor_off: '먼저 2단계 인증을 켜세요.',
  second_factor_on: '다른 앱으로 옮기려면 먼저 2단계 인증을 끄세요.',
  second_factor_set_up: '먼저 인증 앱을 설정한 다음 코드로 확인하세요.',
  password_sign_in_off: '로그인 페이지의 다른 방법을 사용하세요. 비밀번호로는 최고 관리자만 로그인합니다.',
  identity_only_way: '여기서는 최고 관리자만 비밀번호로 로그인합니다. 먼저 다른 계정을 연결하세요.',
  identity_taken:
    '이 {provider} 계정은 다른 사용자와 연결되어 있거나, 이미 {provider}의 다른 계정을 연결했습니다. 먼저 그 연결을 해제하세요.',
  directory_disabled: '조직의 디렉터리에서 계정이 꺼져 있습니다. 디렉터리 관리자에게 문의하세요.',
  directory_password_over: '디렉터리의 비밀번호가 만료되었습니다. 조직에서 새 비밀번호를 정한 다음 로그인하세요.',
  use_browser: '이 제공자는 브라우저로 로그인합니다. 로그인 페이지의 버튼이나 `berth login --sso`를 사용하세요.',
  use_name_and_password: '이 제공자는 브라우저가 아니라 여기서 이름과 비밀번호를 받습니다. 로그인 페이지에 입력하세요.',
  sso_account_other: '계정 {email}: 이 제공자의 다른 사용자와 연결되어 있습니다. 관리자에게 연결 해제를 요청하세요.',
  sso_account_unlinked:
    '계정 {email}: 이 제공자와 연결되어 있지 않습니다. 비밀번호로 로그인하거나 관리자에게 문의하세요.',
  sso_ask_for_account: '관리자에게 {email} 주소의 계정을 요청하세요.',
  sso_clock: '잠시 후 다시 시도하세요. 다시 발생하면 관리자가 두 서버의 시계를 확인해야 합니다.',
  sso_denied:
    '{provider}에서 로그인이 취소되었거나 거부되었습니다. 다시 시도하거나 {provider} 관리자에게 접근 권한을 요청하세요.',
  sso_email_domain: '{email} 주소로는 {provider}에서 로그인할 수 없습니다. 조직의 주소를 사용하세요.',
  sso_email_letters:
    '{provider}에서 보낸 {email} 주소의 @ 앞에 다른 글자와 혼동될 수 있는 글자가 있습니다. {provider} 관리자에게 a~z 글자, 숫자, 기호로만 된 주소를 요청하세요.',
  sso_email_missing:
    '{provider}에서 이메일 주소를 보내지 않습니다. 관리자에게 제공자의 범위와 클레임 확인을 요청하세요.',
  sso_email_unverified: '{provider}에서 {email} 주소를 먼저 확인한 다음 다시 로그인하세요.',
  sso_place:
    '이 Berth는 {at} 주소로 알려져 있지 않습니다. 평소 주소를 사용하거나 관리자에게 이 주소의 등록을 요청하세요(BERTH_ALLOWED_HOSTS, publicUrl).',
  sso_provider_away:
    '{provider}에서 응답하지 않습니다. 잠시 후 다시 시도하세요. 최고 관리자는 비밀번호로 로그인할 수 있습니다.',
  sso_provider_wrong:
    '{provider}에서 Berth의 설정을 받아들이지 않습니다. 관리자가 로그인 제공자 페이지에서 제공자를 테스트해야 합니다.',
  sso_start_again: '이 브라우저에서 로그인을 다시 시작하세요.',
  sso_token_invalid:
    '로그인을 다시 시작하세요. 다시 발생하면 관리자에게 알리세요. {provider}의 응답을 신뢰할 수 없습니다.',
  link_needs_domains: '주소로 연결하려면 이 제공자가 담당하는 메일 도메인이 필요합니다(emailDomains).',
  mapping_needs_claim: '매핑에는 그룹이 들어 있는 클레임이 필요합니다(groupsClaim).',
  no_superadmin_password:
    '비밀번호가 있는 최고 관리자가 없습니다. 모든 제공자가 멈춰도 로그인할 수 있도록 먼저 비밀번호를 설정하세요.',
  passwords_off_with_sign_up:
    '가입한 사람의 계정에는 비밀번호만 있습니다. 먼저 가입을 닫거나(allowSignUp) 비밀번호를 켜 두세요.',
  sign_up_email_domain: '다음 도메인의 주소가 있는 사람만 계정을 받을 수 있습니다: {domains}.',
  sign_up_list_full: '계정을 기다리는 사람이 너무 많습니다. 며칠 뒤에 다시 시도하거나 관리자에게 요청하세요.',
  sign_up_request_instead: '계정을 요청하거나 초대장을 사용하세요.',
  sign_in_provider_needed: '먼저 로그인 제공자를 추가하고 테스트하세요.',
  sign_in_provider_only:
    '활성 제공자가 이것뿐이며 사용자는 비밀번호 없이 로그인합니다. 먼저 비밀번호를 다시 허용하세요(passwordSignIn).',
  sign_in_ended: '로그인이 끝났습니다. 다시 로그인하세요.',
  ticket_used: '비밀번호로 로그인하거나 `berth up`을 다시 실행하여 새 링크를 받으세요.',
  try_again_in_minutes: '{minutes}분 후에 다시 시도하세요.',
  try_again_in_second: '1초 후에 다시 시도하세요.',
  try_again_in_seconds: '{seconds}초 후에 다시 시도하세요.',

  // 권한
  only_admin: '관리자만 할 수 있습니다.',
  only_superadmin: '최고 관리자만 할 수 있습니다.',
  only_superadmin_moves: '최고 관리자만 사용자를 다른 도메인으로 옮길 수 있습니다.',
  only_superadmin_promotes: '최고 관리자만 최고 관리자를 지정할 수 있습니다.',
  only_members_connect: '세션의 소유자와 소유자가 사용을 허락한 구성원만 연결할 수 있습니다.',
  owner_decides: '{owner} 님이 공유한 세션이며, 소유자가 결정합니다.',
  only_admin_launches_for_others: '관리자만 다른 사용자를 위해 세션을 시작할 수 있습니다.',
  only_admin_project_folders: '관리자만 프로젝트의 폴더를 만들 수 있습니다.',
  other_page: '요청이 다른 웹 페이지에서 왔습니다. 콘솔을 원래 주소로 여세요.',

  // 설정
  announcement_ends_first: '공지의 종료 시각은 시작 시각보다 늦어야 합니다.',
  not_fair_share: '"{group}" 자원 그룹의 순서 방식은 {sequencer}입니다. 몫은 drf에서만 계산합니다.',
  compat_port_taken: '이 컴퓨터에서 열 수 없는 포트입니다: {port}. 다른 포트를 고르세요.',
  compat_needs_tls:
    'Backend.AI 클라이언트는 https로만 접속할 수 있습니다(Berth가 실행되는 컴퓨터는 예외). 이 클라이언트의 서명은 요청의 내용까지 보호하지 않기 때문입니다. 관리자가 알려 준 https 주소를 쓰세요.',
  compat_needs_known_proxy:
    'Berth가 신뢰하지 않는 프록시가 이 요청을 전달하여 https로 왔는지 알 수 없습니다. 관리자가 BERTH_BACKEND_AI_PROXIES에 프록시 주소를 적고, 프록시가 X-Forwarded-Proto를 보내야 합니다.',
  no_apps_address:
    '앱을 공개하려면 주소가 필요합니다. berth.toml의 console.appsAddress(BERTH_APPS_ADDRESS)를 설정하고 Berth를 다시 시작하세요.',
  smtp_password_in_clear:
    '{host}의 비밀번호가 암호화되지 않은 채 전송됩니다. smtpSecurity를 tls나 starttls로, 또는 smtpUser를 null로 설정하세요.',

  // 서버
  backup_directory_refused:
    '{directory} 디렉터리를 사용할 수 없습니다({errno}). 매니저를 실행하는 사용자의 것이어야 합니다.',
  backup_disk_full: '{directory} 디스크에 백업할 공간이 부족합니다.',
  backup_interrupted: '백업을 만들던 매니저가 멈췄습니다.',
  certificate_changed:
    '{server}의 인증서가 신뢰하기로 한 인증서와 다르므로, 다른 누군가가 응답하고 있을 수 있습니다. 알고 있던 것: SHA-256 {known}. 지금: SHA-256 {now}. 서버 관리자에게 확인하세요. 새 인증서가 맞으면 데스크톱 앱에서 비교하고 신뢰하거나, --fingerprint로 다시 로그인하세요.',
  database_busy: '데이터베이스에 제때 답하지 못할 만큼 요청이 많습니다. 잠시 후 다시 시도하세요.',
  database_away: '데이터베이스가 응답하지 않습니다. 잠시 후 다시 시도하세요.',
  database_pooled:
    'DATABASE_URL이 가리키는 풀러가 트랜잭션마다 데이터베이스 세션을 다른 클라이언트에 넘깁니다(PgBouncer: pool_mode = transaction). Berth에는 전용 세션이 필요합니다. 모드를 session으로 바꾸거나 데이터베이스를 직접 지정하세요.',
  database_read_only:
    'DATABASE_URL의 데이터베이스가 대기 서버처럼 쓰기를 받지 않습니다. 주 서버나 모든 서버(postgresql://one:5432,two:5432/database), 또는 주 서버를 따라가는 프록시를 지정하세요.',
  database_no_primary:
    'DATABASE_URL의 서버 가운데 쓰기를 받는 서버가 없습니다. 응답하는 서버는 모두 대기 서버입니다. 관리자나 서버를 감시하는 프로그램이 하나를 승격할 때까지 아무것도 변경할 수 없습니다.',
  database_old_primary:
    'DATABASE_URL의 서버 가운데 쓰기를 받는 서버가 마지막 승격 이전의 예전 주 서버입니다. 그 서버를 멈추고 새 주 서버를 따르게 하세요(pg_rewind). 더 오래된 복사본을 복원했다면 매니저를 다시 시작하세요.',
  database_standby_silent:
    '데이터베이스가 응답하지 않는 동기 대기 서버를 기다리고 있습니다. 대기 서버가 응답하거나 관리자가 제외할 때까지 아무것도 변경할 수 없습니다.',
  database_url_invalid:
    'DATABASE_URL은 postgresql://user:password@host/database 형식이어야 합니다. 서버가 여럿이면 host:port,host:port로 쓰고, target_session_attrs는 read-write 또는 primary만 쓸 수 있습니다.',
  database_disk_full: '데이터베이스의 디스크가 가득 찼습니다. 관리자가 공간을 확보해야 합니다.',
  answers_unread: '아직 읽지 않은 응답이 {limit} MiB를 넘습니다. 응답을 읽거나 연결을 닫은 뒤 다시 시도하세요.',
  calls_of_person: '진행 중인 호출이 한 사람의 한도인 {limit}개에 이르렀습니다. 몇 개가 끝난 뒤 다시 시도하세요.',
  lasting_calls_of_person:
    '진행 중인 업로드와 앱 시작이 한 사람의 한도인 {limit}개에 이르렀습니다. 몇 개가 끝난 뒤 다시 시도하세요.',
  calls_waiting:
    '이 로그인 또는 이 네트워크에서 진행 중인 호출이 너무 많습니다. 몇 개를 끝내거나 응답을 기다린 뒤 다시 시도하세요.',
  manager_busy:
    '서버에 제때 답하지 못할 만큼 할 일이 많습니다. 잠시 후 다시 시도하세요. 계속 그러면 관리자가 그 컴퓨터에 프로세서 시간을 더 주거나 매니저를 추가해야 합니다.',
  manager_away: '서버가 응답하지 않습니다.',
  proxy_away: '네트워크의 {proxy} 프록시가 응답하지 않습니다.',
  proxy_kind:
    '네트워크 설정이 {server}에 {proxy} 프록시로 접속하라고 하지만, Berth가 쓸 수 없는 종류의 프록시입니다. 네트워크 설정에서 HTTP 또는 SOCKS 5 프록시를 지정하세요.',
  proxy_no_http: '네트워크가 프록시로 지정한 {proxy}의 서버는 HTTP 프록시가 아닙니다.',
  proxy_no_socks: '네트워크가 프록시로 지정한 {proxy}의 서버는 SOCKS 5를 지원하지 않습니다.',
  proxy_no_way: '네트워크의 {proxy} 프록시가 {server}에 연결하지 못했습니다(HTTP {status}).',
  proxy_refused: '네트워크의 {proxy} 프록시가 {server} 연결을 거부했습니다(HTTP {status}).',
  proxy_sign_in: '네트워크의 {proxy} 프록시가 이름과 비밀번호를 요구합니다.',
  proxy_socks_refused: '네트워크의 {proxy} 프록시가 {server}에 연결하지 못했습니다: {text}.',
  proxy_sign_in_kind: '네트워크의 {proxy} 프록시가 Berth가 지원하지 않는 로그인 방식을 요구합니다: {kinds}.',
  proxy_sign_in_wrong: '네트워크의 {proxy} 프록시가 이름 또는 비밀번호를 거부했습니다.',
  host_name_unknown: '이 서버는 그 호스트 이름의 요청을 받지 않습니다. 받아야 한다면 BERTH_ALLOWED_HOSTS에 추가하세요.',
  host_field_changed:
    'Berth 앞의 리버스 프록시가 Host 필드를 바꿉니다. 브라우저의 Host 필드를 그대로 전달하도록 설정하세요. docs/admin/agents.md에 설명이 있습니다.',
  sent_by_other_page: '다른 웹 페이지가 보낸 요청이어서 Berth가 처리하지 않았습니다.',
  page_server_away: '페이지 서버가 응답하지 않습니다.',
  nothing_here: '이 주소에는 아무것도 없습니다.',
  request_too_long: '한도는 {limit}입니다.',
  many_json_parts: '본문의 항목, 객체, 목록이 {limit, number}개보다 많습니다. 요청을 여러 개로 나누어 보내세요.',

  // 세션
  dependency_unknown: '기다릴 "{session}" 세션이 없습니다.',
  extension_longest: '세션이 이미 자원 정책이 허용하는 가장 긴 수명을 갖고 있습니다.',
  extension_of_slurm: 'Slurm 작업의 시간 제한으로 세션이 {time}에 끝납니다. 클러스터 관리자만 늘릴 수 있습니다.',
  extension_promised: '다른 세션이 이 자원을 기다리고 있으며, 이 세션이 끝나면 시작하기로 되어 있습니다.',
  files_of_several: '컨테이너가 여러 개인 세션의 파일은 보관되지 않습니다. 새 세션을 시작하세요.',
  files_taken: '"{session}" 세션이 이 세션의 파일을 이어받았습니다.',
  files_taken_by_another: '다른 세션이 이 세션의 파일을 이어받았습니다.',
  host_left: '파일이 있는 호스트가 더 이상 Berth나 이 자원 그룹에 속하지 않습니다. 새 세션을 시작하세요.',
  image_unknown:
    '"{image}" 이미지가 있는 호스트가 없고, 사용할 수 있는 레지스트리에도 없습니다. 이미지 목록에서 시작할 수 있는 이미지를 확인하세요.',
  name_too_long: '"{name}" 이름이 너무 깁니다. 세션 이름은 64자까지입니다.',
  network_none_of_policy:
    '자원 정책 "{name}"에서는 세션의 네트워크를 허용하지 않습니다. 네트워크 없음을 선택하거나 관리자에게 문의하세요.',
  network_none_of_domain:
    '도메인 "{name}"에서는 세션의 네트워크를 허용하지 않습니다. 네트워크 없음을 선택하거나 관리자에게 문의하세요.',
  network_list_of_policy:
    '자원 정책 "{name}"에서는 다음 이름만 허용합니다: {allowed}. 이 중에서 허용 목록을 고르거나 네트워크 없음을 선택하세요.',
  network_list_of_domain:
    '도메인 "{name}"에서는 다음 이름만 허용합니다: {allowed}. 이 중에서 허용 목록을 고르거나 네트워크 없음을 선택하세요.',
  network_name_beyond_policy: '자원 정책 "{name}"에서는 {asked} 이름을 허용하지 않습니다. 허용하는 이름: {allowed}.',
  network_name_beyond_domain: '도메인 "{name}"에서는 {asked} 이름을 허용하지 않습니다. 허용하는 이름: {allowed}.',
  never_ran: '실행된 적이 없는 세션이므로 파일이 없습니다. 새 세션을 시작하세요.',
  no_project_no_members: '프로젝트에 속하지 않은 세션이므로 구성원이 없습니다.',
  not_shared_with: '이 사용자와 공유한 세션이 아닙니다.',
  only_members_download_key: '세션의 키는 소유자와 사용 권한을 받은 구성원만 다운로드할 수 있습니다.',
  command_forgotten: '세션에 그런 명령이 없습니다. 명령은 끝나고 10분이 지나면 목록에서 사라집니다.',
  command_protocol: '명령의 스트림에는 하위 프로토콜 berth.tunnel.v1이 필요합니다.',
  command_not_attached: '연결형으로 시작한 명령이 아니거나 이미 연결되어 있습니다.',
  commands_of_person:
    '이 호스트에서 명령을 {limit}개까지 동시에 실행할 수 있습니다. 하나가 끝날 때까지 기다리거나 하나를 종료하세요.',
  programs_wait_in_session:
    '이 세션에서 프로그램 {limit}개가 시작을 기다리고 있어 더 시작할 수 없습니다. 기다리는 프로그램이 시작된 뒤 다시 시도하세요.',
  only_members_run_commands: '세션에서는 소유자와 사용 권한을 받은 구성원만 명령을 실행할 수 있습니다.',
  only_members_open_apps: '세션의 앱은 소유자와 사용 권한을 받은 구성원만 열 수 있습니다.',
  only_owner_changes_folders: '세션에 폴더를 더하거나 빼는 것은 소유자만 할 수 있습니다.',
  only_owner_labels: '세션의 태그와 메모는 소유자만 바꿀 수 있습니다.',
  only_owner_reads_output:
    '세션의 로그와 시작 명령은 소유자만 볼 수 있습니다. {owner} 님이 세션 페이지의 로그 탭이나 `berth session log-access`로 관리자에게 허용할 수 있습니다.',
  only_owner_publishes: '세션의 앱은 소유자만 공개할 수 있습니다.',
  image_of_other:
    '{who} 님이 이 세션을 대신 시작하고 이미지({image})를 정했습니다. 내가 직접 시작한 적이 없는 이미지입니다. {who} 님이 정한 것을 그대로 쓰거나(keepCommand), 직접 고른 이미지로 세션을 새로 시작하세요.',
  batch_command_of_other:
    '{who} 님이 이 배치 세션을 대신 시작하고 명령을 정했습니다. 그 명령으로 다시 시작하거나(keepCommand), 자신의 명령으로 세션을 새로 시작하세요.',
  only_owner_restarts: '세션은 소유자만 파일과 함께 다시 시작할 수 있습니다.',
  image_of_running_session: '실행 중인 세션으로만 이미지를 만들 수 있습니다. 먼저 세션을 시작하세요.',
  only_owner_saves: '세션의 이미지는 소유자만 만들 수 있습니다.',
  session_image_name: '이 세션의 이미지 이름이 시작해야 하는 말: {prefix}. 예: {prefix}torch:2',
  session_images_off: '최고 관리자가 세션 이미지 만들기를 꺼 두었습니다.',
  only_owner_shares: '세션은 소유자만 공유할 수 있습니다.',
  owner_inactive: '{email} 계정이 활성 상태가 아니어서 세션이 시작되지 않습니다.',
  policy_allows_none: '"{policy}" 자원 정책은 세션을 허용하지 않습니다. 관리자에게 다른 정책을 요청하세요.',
  priority_at_most: '{usual}보다 높은 우선순위는 관리자만 설정할 수 있습니다.',
  project_deactivated: '관리자가 "{project}" 프로젝트를 비활성화했습니다. 다른 프로젝트를 선택하세요.',
  project_deleted: '프로젝트가 방금 삭제되었습니다.',
  project_deleted_choose: '프로젝트가 방금 삭제되었습니다. 다른 프로젝트를 선택하세요.',
  resource_group_closed_because: '관리자가 "{group}" 자원 그룹을 닫았습니다: {notice}',
  resource_group_closed: '관리자가 "{group}" 자원 그룹을 닫았습니다. 다른 자원 그룹을 선택하세요.',
  session_ended: '세션이 종료되었습니다.',
  session_is: '세션의 상태: {status}',
  session_just_ended: '세션이 방금 종료되었습니다.',
  session_member_unknown: '세션의 "{project}" 프로젝트에 다음 활성 구성원이 없습니다: {email}',
  dot_folder_in_launched:
    '{who} 님이 이 세션을 대신 시작하고 명령을 정했으므로, 그 명령이 폴더 "{name}" 안을 읽을 수 있습니다. 세션을 직접 다시 시작하면 점으로 시작하는 폴더가 함께 마운트됩니다.',
  dot_folder_with_token:
    '액세스 토큰이 이 세션을 시작하고 명령을 정했으므로, 그 명령이 폴더 "{name}" 안을 읽을 수 있습니다. 세션을 직접 다시 시작하면 점으로 시작하는 폴더가 함께 마운트됩니다.',
  dot_folders_left_out:
    '다른 사람이 이 세션을 사용했으므로 그 사람의 프로그램이 세션에서 계속 실행될 수 있습니다. 모든 세션에서 사용하는 다음 폴더 없이 시작했습니다: {names}.',
  session_used_by_others:
    '다른 사람이 이 세션을 사용했으므로 그 사람의 프로그램이 아직 실행 중일 수 있고, "{name}" 폴더는 내 모든 세션에서 사용됩니다. 다른 세션을 시작하거나 다른 폴더를 더하세요.',
  session_mounts_dot_folder:
    '이 세션은 모든 세션이 함께 쓰는 "{name}" 폴더를 마운트합니다. 다른 사람은 이 세션을 볼 수만 있습니다. 사용하게 하려면 자동 마운트 없이 세션을 시작하세요.',
  session_named: '"{name}" 이름의 실행 중인 세션이 있습니다. 다른 이름을 고르세요.',
  sessions_shared_at_most:
    '{email}님과 실행·대기 중인 세션 {limit}개를 공유하고 있습니다. 더 공유하려면 그중 하나의 공유를 중지하거나 세션을 종료하세요.',
  session_shares_at_most: '세션이 구성원 {count}명과 공유되어 있습니다. 더 추가할 수 없습니다.',
  image_defaults_at_most:
    '이미지 {limit}개에 기본 설정이 있어 더 저장할 수 없습니다. 다른 이미지의 기본 설정을 먼저 제거하세요.',
  image_defaults_unknown: '"{image}" 이미지의 기본 설정이 없습니다.',
  template_unknown: '"{name}" 템플릿이 없습니다.',
  templates_at_most: '템플릿이 {count}개 있습니다. {limit}개까지 저장할 수 있으니 하나를 삭제하세요.',
  too_many_containers:
    '요청한 컨테이너는 {containers}개인데, "{policy}" 자원 정책은 세션 하나에 {limit}개까지 허용합니다. 수를 줄이세요.',
  user_unknown_to_launch: '세션을 대신 시작해 줄 수 있는 "{user}" 사용자가 없습니다.',
  yours_already: '이미 자신의 세션입니다.',

  // 앱과 연결
  app_connections_at_most:
    '앱에 대한 연결 {count}개가 모두 사용 중입니다(예: 이벤트 스트림). 앱의 다른 페이지를 닫거나 잠시 후 다시 시도하세요.',
  app_refuses: '앱이 연결을 받지 않습니다.',
  app_silent: '앱이 제시간에 연결을 받지 않았습니다.',
  app_unknown: '세션의 이미지에는 열 수 있는 "{app}" 앱이 없습니다.',
  grant_for_another: '다른 세션이나 앱의 접근 권한입니다. 앱을 다시 여세요.',
  grant_over: '접근 권한이 만료되었거나 취소되었습니다. 앱을 다시 여세요.',
  host_silent: '이 세션의 호스트가 제시간에 연결을 열지 않았습니다. 다시 시도하세요.',
  host_without_session: '호스트가 이 세션을 실행하고 있지 않습니다.',
  apps_without_address:
    '관리자가 berth.toml에 console.appsAddress(BERTH_APPS_ADDRESS)를 설정해야 합니다. 그때까지는 데스크톱 앱이나 berth 명령을 사용하세요.',
  browser_needs_sign_in: '브라우저는 로그인으로 들어갑니다. 키 쌍 대신 berth login으로 로그인하세요.',
  link_hours: '여기서 링크는 최대 {hours}시간까지 유효합니다.',
  links_at_most: '링크는 {count}개까지 만들 수 있습니다. 먼저 다른 링크를 종료하세요.',
  not_an_address: '"{text}": 주소도 주소 범위도 아닙니다.',
  only_web_apps: '자체 주소에서는 웹 앱만 열 수 있습니다. {app} 앱은 웹 앱이 아닙니다.',
  ports_taken:
    '범위의 모든 포트를 앱이 사용하고 있습니다. 필요 없는 세션이나 링크를 종료하거나 관리자에게 더 넓은 범위를 요청하세요.',
  ports_at_most:
    '포트에 연 앱이 {count}개로, 한 사람이 열 수 있는 최대입니다. 필요 없는 세션이나 링크를 종료하세요. 15분 동안 브라우저가 사용하지 않은 앱은 포트를 반납합니다.',
  ports_resting:
    '비어 있는 포트는 모두 지난 하루 동안 다른 사람의 앱이 사용했고, http에서는 브라우저가 그 앱을 잊을 수 없습니다. 나중에 다시 시도하거나 관리자에게 https나 더 넓은 범위를 요청하세요.',
  publishing_off: '관리자가 허용하지 않았습니다.',
  sign_in_ended_app: '앱이 시작되는 동안 로그인이 끝났습니다. 다시 로그인하세요.',
  connections_of_person:
    '세션에 연 연결이 한 사람의 한도인 {limit}개에 이르렀습니다. 연결을 몇 개 닫은 뒤 다시 시도하세요.',
  connections_of_app:
    '이 세션의 "{app}"에 연 연결이 한 사람의 한도인 {limit}개에 이르렀습니다. 연결을 몇 개 닫은 뒤 다시 시도하세요.',
  terminals_of_person:
    '열어 둔 세션 터미널이 한 사람의 한도인 {limit}개에 이르렀습니다. 터미널을 몇 개 닫은 뒤 다시 시도하세요.',
  visitors_of_owner:
    '이 소유자의 링크로 연 연결이 한도인 {limit}개에 이르렀습니다. 다른 사람이 나간 뒤 다시 시도하세요.',
  connections_of_all:
    '이 서버가 열 수 있는 세션 연결 {limit}개가 거의 다 열려 있습니다. 필요 없는 연결을 닫은 뒤 다시 시도하세요. 자주 발생하면 관리자가 서버의 열린 파일 한도를 높여야 합니다.',
  too_many_waiting: '기다리는 연결이 이미 너무 많습니다. 잠시 후 다시 시도하세요.',
  tunnel_closed: '연결이 닫혔습니다.',
  tunnel_reopened: '그동안 연결이 닫혔습니다. 다시 여세요.',

  // 폴더와 파일
  archive_at_most: '압축 파일에는 파일을 {limit}개까지 담을 수 있습니다. 디렉터리를 하나씩 다운로드하세요.',
  archive_bytes_at_most:
    '압축 파일에는 {limit}까지 담을 수 있습니다. 희소 파일은 전체 크기로 셉니다. 디렉터리를 하나씩 다운로드하세요.',
  archive_only_files: '"{name}" 항목은 파일도 디렉터리도 아닙니다. 제외하세요.',
  bundle_file_too_large: '"{path}" 파일이 1 MiB보다 큽니다. 따로 다운로드하세요.',
  changed_while_moved:
    '"{name}" 항목이 복사하는 동안 바뀌어서 원래 위치에 그대로 두었습니다. 쓰기가 끝난 뒤 다시 시도하세요.',
  clone_left_over: '복사가 일찍 끝났고, 불완전한 새 폴더 "{name}" 삭제가 아직 끝나지 않았습니다.',
  connection_cut: '연결이 끊겼습니다.',
  copy_into_itself: '"{path}" 항목은 자기 안으로 복사할 수 없습니다.',
  directory_has_files: '"{name}" 디렉터리에 파일이 있습니다.',
  directory_there: '"{name}" 디렉터리가 이미 있습니다.',
  dot_folders_at_most:
    '이름이 점으로 시작하는 폴더가 {count}개 있습니다. 자동으로 마운트되는 것은 {limit}개까지이니 이름을 바꾸거나 자동 마운트 없이 시작하세요.',
  dotfile_unknown: '"{path}" 닷파일이 없습니다.',
  dotfiles_at_most: '{count}개까지 보관됩니다. 먼저 하나를 제거하세요.',
  dotfiles_too_large:
    '모두 합쳐 {limit} KiB까지이고, 다른 닷파일이 {others} KiB를 차지합니다. 큰 파일은 폴더에 두세요.',
  download_expired: '링크가 만료되었습니다. 콘솔에서 다운로드를 다시 시작하세요.',
  file_changed_meanwhile: '"{name}" 파일이 읽은 뒤에 바뀌었습니다. 다시 읽은 다음 저장하세요.',
  file_error: '"{name}" 항목을 읽거나 쓸 수 없습니다. 스토리지에 오류가 있습니다.',
  file_exists_meanwhile: '"{name}" 파일이 이미 있습니다. 다시 읽은 다음 저장하세요.',
  file_forbidden: '스토리지의 권한 때문에 Berth가 "{name}" 항목을 읽거나 바꿀 수 없습니다.',
  file_gone_meanwhile: '그사이 "{name}" 파일이 삭제되었거나 이름이 바뀌었습니다. 다시 읽은 다음 저장하세요.',
  file_in_use: '"{name}" 항목이 스토리지에서 사용 중입니다. 나중에 다시 시도하세요.',
  file_is_directory: '"{name}" 항목은 디렉터리입니다.',
  file_is_link: '"{name}" 항목은 링크입니다. 링크가 가리키는 항목을 지정하세요.',
  file_is_special: '"{name}" 항목은 파이프나 소켓이나 장치입니다. 일반 파일만 읽습니다.',
  file_made_meanwhile: '그사이 "{name}" 파일이 만들어졌습니다. 다시 읽은 다음 저장하세요.',
  file_missing: '"{name}" 항목이 없습니다.',
  file_name_refused: '"{name}" 이름을 스토리지가 받아들이지 않습니다.',
  file_name_rule: '이름은 1~255바이트여야 하며 "."이나 ".."일 수 없고 "/"나 NUL을 포함할 수 없습니다.',
  file_name_too_long: '"{name}" 이름이 스토리지에 너무 깁니다.',
  file_not_directory: '"{name}" 항목은 디렉터리가 아닙니다. 링크라면 링크가 가리키는 디렉터리를 지정하세요.',
  file_not_movable: '"{name}" 항목을 자기 자신 안으로 옮길 수 없거나, 스토리지가 그 이름을 받아들이지 않습니다.',
  file_not_regular: '"{name}" 항목은 일반 파일이 아닙니다.',
  file_other_system: '"{name}" 항목의 새 위치가 다른 파일 시스템에 있습니다. 복사한 다음 여기에서 삭제하세요.',
  file_remounted: '스토리지가 다시 마운트되어 "{name}" 항목이 더는 없습니다. 다시 시도하세요.',
  file_shorter: '읽는 동안 파일이 짧아졌습니다. 쓰기가 끝난 뒤 다시 시도하세요.',
  file_storage_gone: '스토리지에 연결되지 않아 "{name}" 항목에 접근할 수 없습니다.',
  file_storage_silent: '스토리지가 응답하지 않아 "{name}" 항목에 접근할 수 없습니다.',
  file_there: '"{name}" 항목이 이미 있습니다.',
  file_there_choose: '"{name}" 이름이 이미 있습니다. 다른 이름을 고르세요.',
  file_too_large: '"{name}" 파일을 쓸 수 없습니다. 스토리지가 이 크기의 파일을 허용하지 않습니다.',
  files_of_folder_gone: '폴더의 파일이 더는 "{storage}" 스토리지에 없습니다. 관리자에게 알리세요.',
  folder_ambiguous: '"{name}" 이름의 폴더가 여러 개입니다: {choices}. 이 이름이나 ID를 사용하세요.',
  folder_deleted_filling: '"{name}" 폴더가 채워지는 동안 삭제되었습니다.',
  folder_dot_has_members:
    '"{name}" 폴더에 구성원이나 열린 초대가 있습니다. 이름이 점으로 시작하는 폴더는 모든 세션에 마운트되므로 먼저 공유를 거두세요.',
  folder_dot_not_shared:
    '"{name}" 폴더는 모든 세션에 마운트되어, 다른 사람이 쓴 것을 그 안의 프로그램이 실행하게 됩니다. 이름이 점으로 시작하지 않는 폴더를 공유하세요.',
  folder_dot_mounted_by_others:
    '다른 사람의 실행 중인 세션이 "{name}" 폴더를 마운트하고 있습니다. 이름이 점으로 시작하는 폴더는 내 모든 세션에 마운트되므로, 그 세션이 종료될 때까지 기다리거나 관리자에게 종료를 요청하세요.',
  folder_dot_used_by_others:
    '"{session}" 세션에서 다른 사람이나 그 사람이 남긴 프로그램이 "{name}" 폴더에 쓸 수 있습니다. 이름이 점으로 시작하는 폴더는 모든 세션에 마운트되므로, 먼저 그 세션을 종료하세요.',
  folder_dot_of_project: '프로젝트의 폴더 이름은 점으로 시작할 수 없습니다.',
  folder_filling: '"{name}" 폴더에 아직 복사하고 있습니다. 복사가 끝날 때까지 기다리세요.',
  folder_filling_mount: '"{name}" 폴더에 아직 복사하고 있습니다. 복사가 끝날 때까지 기다리거나 폴더를 빼세요.',
  folder_from_launch:
    '"{name}" 폴더는 세션을 시작할 때부터 있어서 세션이 종료될 때까지 남습니다. 이 폴더 없이 세션을 다시 시작하세요.',
  folder_in_session: '세션의 "{path}"에 이미 "{name}" 폴더가 있습니다. 먼저 그 폴더를 빼세요.',
  folder_in_trash: '"{name}" 폴더는 휴지통에 있습니다. 먼저 복원하세요.',
  folder_not_in_session: '세션에 그런 폴더가 없습니다.',
  folder_not_own: '폴더의 소유자나 자신을 초대할 수는 없습니다.',
  folder_not_trashed_first: '"{name}" 폴더가 휴지통에 없습니다. 먼저 휴지통으로 옮기면 완전히 삭제할 수 있습니다.',
  folder_of_session_deleted:
    '이 세션의 "{name}" 폴더가 삭제되었습니다. 이 폴더 없이 세션을 다시 시작하거나 새 세션을 시작하세요.',
  folder_permission_needs_project: '프로젝트 폴더에만 권한이 있습니다. 프로젝트를 지정하세요.',
  folder_permission_of_project: '프로젝트의 폴더에만 권한을 지정할 수 있습니다.',
  folder_project_deactivated: '"{name}" 폴더의 프로젝트가 비활성화되었습니다. 관리자에게 활성화를 요청하세요.',
  folder_project_deactivated_mount:
    '"{name}" 폴더의 프로젝트가 비활성화되었습니다. 폴더를 빼거나 관리자에게 활성화를 요청하세요.',
  folder_project_deactivated_wait:
    '"{name}" 폴더의 프로젝트가 비활성화되어 있습니다. 관리자가 다시 활성화하면 세션이 시작됩니다. 또는 이 폴더 없이 시작하세요.',
  folder_deleted_wait:
    '세션이 시작을 기다리는 동안 "{name}" 폴더가 영구 삭제되었습니다. 이 폴더 없이 세션을 시작하세요.',
  folder_read_only_now: '요청한 뒤 "{name}" 폴더의 권한이 읽기로 낮아져, 세션에 읽기 전용으로 마운트됩니다.',
  folder_right_of_launcher_withdrawn:
    '{who} 님이 소유자를 대신해 이 세션을 시작했는데, 이제 "{name}" 폴더를 마운트할 수 없습니다. 이 폴더 없이 세션을 시작하세요.',
  folder_right_withdrawn:
    '요청한 뒤 "{name}" 폴더의 권한이 없어졌습니다. 폴더 소유자에게 권한을 요청하거나, 이 폴더 없이 세션을 시작하세요.',
  folder_share_limit: '"{name}" 폴더에 구성원 {members}명과 열린 초대 {open}개가 있습니다. 합쳐서 {limit}개까지입니다.',
  folder_named_like_id: '이 폴더의 이름은 ID처럼 보입니다. 복원하기 전에 이름을 바꾸세요.',
  folder_taken: '"{name}" 폴더가 이미 있습니다. 다른 이름을 선택하세요.',
  folder_trashed: '"{name}" 폴더가 휴지통으로 옮겨졌습니다.',
  folder_trashed_mount: '"{name}" 폴더가 휴지통에 있습니다. 먼저 복원하거나 빼세요.',
  folder_trashed_restore: '"{name}" 폴더가 휴지통에 있습니다. 먼저 복원하세요.',
  folder_trashed_wait:
    '"{name}" 폴더가 휴지통에 있습니다. 폴더 소유자가 복원하면 세션이 시작됩니다. 또는 이 폴더 없이 시작하세요.',
  folder_unknown: '"{name}" 폴더가 없습니다.',
  folder_used_by: '실행 중인 세션이 "{name}" 폴더를 사용합니다: {sessions}. 먼저 종료하세요.',
  folder_used_by_more: '실행 중인 세션이 "{name}" 폴더를 사용합니다: {sessions} 외 {more}개. 먼저 종료하세요.',
  folder_used_by_others:
    '다른 사용자의 실행 중인 세션 {count}개가 "{name}" 폴더를 사용합니다. 먼저 종료하도록 그 사용자나 관리자에게 요청하세요.',
  folders_in_session_at_most: '세션에는 폴더를 {limit}개까지 마운트할 수 있습니다.',
  folders_not_told:
    '호스트가 할 수 있다고 알리지 않았습니다. 그 에이전트의 버전이 낮거나 연결되어 있지 않습니다. 잠시 후 다시 시도하세요.',
  folders_of_running: '폴더는 실행 중인 세션에 더합니다. 이 세션의 상태는 {status}입니다.',
  folders_at_most:
    '"{policy}" 자원 정책은 폴더를 {limit}개까지 허용하고, 지금 {count}개가 있습니다. 하나를 휴지통에서도 삭제하거나 관리자에게 다른 정책을 요청하세요.',
  folders_at_most_one:
    '"{policy}" 자원 정책은 폴더를 1개까지 허용하고, 지금 {count}개가 있습니다. 하나를 휴지통에서도 삭제하거나 관리자에게 다른 정책을 요청하세요.',
  foreign_hard_link:
    '"{name}" 항목은 다른 소유자의 파일에 대한 하드 링크이고, 그 파일이 폴더 밖에 있을 수 있어 열지 않습니다.',
  invitation_over: '초대가 취소, 수락, 거절되었거나 만료되었습니다.',
  leave_managed: '"{name}" 폴더는 직접 관리하는 폴더이며 초대받은 것이 아닙니다.',
  leave_of_project: '프로젝트 구성원이라서 "{name}" 폴더가 보입니다. 관리자가 프로젝트에서 제외할 수 있습니다.',
  link_leads_nowhere: '"{name}" 링크는 폴더 밖이나 없는 항목을 가리킵니다. 이 항목을 제외하세요.',
  link_leaves_folder:
    '"{name}" 링크는 폴더 밖을 가리키거나 절대 경로입니다. 같은 폴더의 파일을 가리키는 링크만 따라갑니다.',
  link_loops: '"{name}" 경로에 링크가 너무 많습니다. 파일을 직접 가리키는 링크를 만드세요.',
  links_not_followed: '"{name}" 항목은 일반 파일이 아닙니다. 링크라면 링크가 가리키는 파일을 지정하세요.',
  may_not_change: '"{name}" 폴더의 파일을 읽을 수 있지만 바꿀 수는 없습니다. 소유자에게 권한을 요청하세요.',
  may_not_delete: '"{name}" 폴더의 파일을 삭제하거나 바꾸거나 이름을 바꿀 수 없습니다. 소유자에게 권한을 요청하세요.',
  member_already: '{email} 님은 이미 "{name}" 폴더의 구성원입니다.',
  member_gone: '폴더에 더 이상 이 구성원이 없습니다.',
  mount_inside: '"{path}" 경로가 다른 폴더를 마운트할 "{outer}" 안에 있습니다. 다른 경로를 지정하세요.',
  mount_over_automatic:
    '"{folder}" 폴더가 "{at}" 경로에 자동으로 마운트되므로 "{name}" 폴더를 "{path}" 경로에 마운트할 수 없습니다. 다른 경로를 지정하거나 자동 마운트 없이 시작하세요.',
  mount_same: '두 폴더를 "{path}" 경로에 마운트하려고 합니다. 하나에 다른 경로를 지정하세요.',
  name_an_entry: '폴더 안의 파일이나 디렉터리를 지정하세요.',
  neither_file_nor_directory: '"{name}": 파일도 디렉터리도 아닙니다.',
  nested_copy: '"{name}" 디렉터리가 {levels}단계보다 깊습니다. 더 아래의 디렉터리를 하나씩 복사하세요.',
  no_byte_arrived: '1분 동안 데이터가 도착하지 않았습니다.',
  original_left: '"{name}" 항목을 새 위치에 두었지만 원래 위치에서 삭제하지 못했습니다. 원래 위치에서 삭제하세요.',
  path_is_folder: '경로가 폴더 자체를 가리킵니다. 폴더 안의 파일을 지정하세요.',
  path_names_file: '경로는 폴더 안의 파일을 가리켜야 합니다.',
  special_file: '"{name}": 파이프나 소켓, 장치입니다.',
  file_requests: '열려 있는 파일 요청이 {limit}개입니다. 그중 하나가 끝날 때까지 기다리세요.',
  copies_of_person:
    '진행 중인 파일 복사가 {limit}개로, 한 사람이 가질 수 있는 최대입니다. 그중 하나가 끝날 때까지 기다리거나 하나를 취소하세요.',
  bundles_of_person:
    '여러 파일의 업로드가 {limit}개 열려 있으며, 한 사람이 열 수 있는 최대입니다. 그중 하나가 끝날 때까지 기다리세요.',
  storage_entries_full: '"{name}" 항목을 만들 수 없습니다. 스토리지가 여기에 항목을 더 허용하지 않습니다.',
  quota_folder_files:
    '"{name}" 폴더에는 파일과 디렉터리, 링크를 {limit}개까지 둘 수 있고, 지금 {used}개이며 {files}개를 더 만들어야 합니다. 파일을 삭제하거나 폴더 관리자에게 제한을 늘려 달라고 요청하세요.',
  quota_total_files:
    '"{name}" 폴더 소유자의 모든 폴더에는 파일과 디렉터리, 링크를 {limit}개까지 둘 수 있고, 지금 {used}개이며 {files}개를 더 만들어야 합니다. 파일이나 폴더를 휴지통에서도 삭제하거나 관리자에게 다른 자원 정책을 요청하세요.',
  quota_project_files:
    '"{name}" 폴더가 속한 프로젝트의 모든 폴더에는 파일과 디렉터리, 링크를 {limit}개까지 둘 수 있고, 지금 {used}개이며 {files}개를 더 만들어야 합니다. 파일이나 폴더를 휴지통에서도 삭제하거나 프로젝트 관리자에게 제한을 늘려 달라고 요청하세요.',
  quota_folder_full:
    '"{name}" 폴더는 {limit}까지 쓸 수 있고, 지금 {used} 사용 중이며, {bytes} 더 필요합니다. 파일을 삭제하거나 폴더 관리자에게 제한을 늘려 달라고 요청하세요.',
  quota_folder_staged:
    '"{name}" 폴더는 {limit}까지 쓸 수 있습니다. 끝나지 않은 업로드({staged}) 포함 지금 {used} 사용 중이며, {bytes} 더 필요합니다. 업로드를 끝내거나 취소하고(아무것도 받지 않는 업로드는 10분 동안만 공간을 차지합니다), 파일을 삭제하거나 폴더 관리자에게 제한을 늘려 달라고 요청하세요.',
  quota_project_full:
    '"{name}" 폴더가 속한 프로젝트의 모든 폴더는 {limit}까지 쓸 수 있고, 지금 {used} 사용 중이며, {bytes} 더 필요합니다. 파일이나 폴더를 휴지통에서도 삭제하거나 프로젝트 관리자에게 제한을 늘려 달라고 요청하세요.',
  quota_project_staged:
    '"{name}" 폴더가 속한 프로젝트의 모든 폴더는 {limit}까지 쓸 수 있습니다. 끝나지 않은 업로드({staged}) 포함 지금 {used} 사용 중이며, {bytes} 더 필요합니다. 업로드를 끝내거나 취소하고(아무것도 받지 않는 업로드는 10분 동안만 공간을 차지합니다), 파일이나 폴더를 휴지통에서도 삭제하거나 프로젝트 관리자에게 제한을 늘려 달라고 요청하세요.',
  quota_total_full:
    '"{name}" 폴더 소유자의 모든 폴더는 {limit}까지 쓸 수 있고, 지금 {used} 사용 중이며, {bytes} 더 필요합니다. 파일이나 폴더를 휴지통에서도 삭제하거나 관리자에게 다른 자원 정책을 요청하세요.',
  quota_total_staged:
    '"{name}" 폴더 소유자의 모든 폴더는 {limit}까지 쓸 수 있습니다. 끝나지 않은 업로드({staged}) 포함 지금 {used} 사용 중이며, {bytes} 더 필요합니다. 업로드를 끝내거나 취소하고(아무것도 받지 않는 업로드는 10분 동안만 공간을 차지합니다), 파일이나 폴더를 휴지통에서도 삭제하거나 관리자에게 다른 자원 정책을 요청하세요.',
  storage_keeps_for_sessions:
    '"{storage}" 스토리지의 디스크가 거의 가득 찼습니다. 폴더에 쓰는 세션을 위해 비워 두는 공간: {size}. 그곳의 파일을 삭제하거나 다른 스토리지를 선택하세요.',
  storage_keeps_free: '"{storage}" 스토리지의 디스크가 거의 가득 찼습니다. 서버가 동작하도록 비워 두는 공간: {size}.',
  storage_full: '"{storage}" 스토리지가 가득 찼습니다.',
  storage_no_space: '"{name}" 항목을 쓸 수 없습니다. 스토리지에 공간이 없습니다.',
  storage_quota_full: '"{name}" 항목을 쓸 수 없습니다. 스토리지의 할당량을 다 썼습니다.',
  storage_read_only: '"{name}" 항목을 바꿀 수 없습니다. 스토리지가 읽기 전용으로 마운트되었습니다.',
  storage_silent: '"{storage}" 스토리지가 응답하지 않습니다.',
  storage_unknown: '이 Berth에는 "{storage}" 스토리지가 없습니다.',
  storage_unmounted: '"{storage}" 스토리지가 방금 마운트 해제되었습니다.',
  text_too_long: '한도는 4 MiB입니다. 더 큰 파일은 업로드하세요.',
  upload_busy: '다른 요청이 이 업로드에 쓰고 있습니다. 몇 초 뒤에 다시 시도하세요.',
  upload_concat:
    '한 파일의 여러 부분을 동시에 업로드해 합칠 수 없습니다(Upload-Concat). 파일을 하나로 업로드하세요. tus-js-client와 Uppy에서는 parallelUploads: 1로 설정합니다.',
  upload_continues_at: '업로드는 {at}에서 이어지는데 요청은 {from}에서 시작합니다.',
  upload_gone: '업로드가 취소되었거나 만료되었거나 없습니다. 다시 시작하세요.',
  upload_incomplete_yet: '{size}바이트 중 {offset}바이트가 도착했습니다.',
  upload_needs_space: '업로드에 {bytes}바이트가 필요한데 "{storage}" 스토리지에 {left}바이트가 남았습니다.',
  upload_other_hash: '"{path}" 파일의 SHA-256이 알린 값과 다릅니다. 다시 업로드하세요.',
  upload_too_long: '본문이 업로드의 나머지보다 깁니다.',
  downloads_at_most: '네 시간 동안 다운로드를 {limit}번 요청했습니다. 링크 일부가 만료될 때까지 기다리세요.',
  tokens_at_most: '한 사람의 액세스 토큰은 최대 {limit}개입니다. 쓰지 않는 토큰을 끝내세요.',
  token_scope: '액세스 토큰에 "{scope}" 권한이 없습니다. 내 계정 페이지에서 이 권한이 있는 토큰을 만드세요.',
  only_by_token: '이 주소는 액세스 토큰만 받습니다. 내 계정 페이지에서, 또는 `berth token create`로 토큰을 만드세요.',
  not_by_token: '액세스 토큰으로는 할 수 없습니다. 직접 로그인하세요.',
  no_dot_folder_by_token:
    '이름이 점으로 시작하는 폴더는 소유자의 모든 세션에 있으므로 액세스 토큰으로 사용할 수 없습니다.',
  only_token_launched: '액세스 토큰은 자신이 시작한 세션만 바꾸고, 사용하고, 종료할 수 있습니다.',
  token_sessions:
    '이 액세스 토큰은 대기 중이거나 실행 중인 세션을 동시에 {limit}개까지 가질 수 있습니다. 먼저 하나를 종료하세요.',
  token_gpu_hours:
    '이 액세스 토큰의 세션들이 GPU 시간 {limit}시간을 모두 썼거나, 끝날 때까지 쓸 시간으로 잡아 두었습니다. 세션 하나를 종료하거나, GPU 수나 수명을 줄여 요청하거나, 다른 토큰을 만드세요.',
  token_other_app: '액세스 토큰은 자신이 시작한 세션의 웹 앱이나, 토큰을 만들 때 정한 앱 하나에만 접근할 수 있습니다.',
  keypairs_at_most: '한 사람의 키 쌍은 최대 {limit}개입니다. 쓰지 않는 키 쌍을 삭제하세요.',
  waiting_at_most: '한 사람의 대기 세션은 최대 {limit}개입니다. 시작될 때까지 기다리거나 일부를 취소하세요.',
  uploads_at_most: '끝나지 않은 업로드가 {limit}개 있습니다. 일부를 끝내거나 취소하세요.',
  cursor_wrong: '목록의 위치가 올바르지 않습니다. 처음 페이지부터 다시 여세요.',
  group_without_access: '"{group}" 자원 그룹을 사용할 권한이 없습니다.',
  group_without_access_in_project:
    '이 프로젝트에서 "{group}" 자원 그룹을 사용할 권한이 없습니다. 관리자가 권한을 줄 수 있습니다.',
  limit_of_user:
    '필요한 자원: {needed}. 자원 정책 "{policy}"의 사용자별 한도는 모두 합쳐 {limit}입니다. 더 적게 요청하세요.',
  limit_of_keypair:
    '필요한 자원: {needed}. 자원 정책 "{policy}"의 키 쌍별 한도는 모두 합쳐 {limit}입니다. 더 적게 요청하세요.',
  model_limit_of_user:
    '필요한 자원: {needed}. 자원 정책 "{policy}"의 사용자별 "{model}" GPU 한도는 모두 합쳐 {limit}개입니다. 다른 GPU를 고르거나 더 적게 요청하세요.',
  model_limit_of_keypair:
    '필요한 자원: {needed}. 자원 정책 "{policy}"의 키 쌍별 "{model}" GPU 한도는 모두 합쳐 {limit}개입니다. 다른 GPU를 고르거나 더 적게 요청하세요.',
  model_limit_of_project:
    '필요한 자원: {needed}. "{project}" 프로젝트의 "{model}" GPU 한도는 모두 합쳐 {limit}개입니다. 다른 GPU를 고르거나 더 적게 요청하세요.',
  model_limit_of_domain:
    '필요한 자원: {needed}. "{domain}" 도메인의 "{model}" GPU 한도는 모두 합쳐 {limit}개입니다. 다른 GPU를 고르거나 더 적게 요청하세요.',
  limit_of_project: '필요한 자원: {needed}. "{project}" 프로젝트의 한도는 모두 합쳐 {limit}입니다. 더 적게 요청하세요.',
  limit_of_domain: '필요한 자원: {needed}. "{domain}" 도메인의 한도는 모두 합쳐 {limit}입니다. 더 적게 요청하세요.',
  member_of_no_project: '속한 프로젝트가 없습니다. 관리자에게 추가를 요청하세요.',
  choose_project: '속한 프로젝트 중 하나를 선택하세요: {projects}',
  no_project_of_admin: '관리하는 프로젝트 중에 "{project}" 프로젝트가 없습니다.',
  project_in_several_domains: '"{project}" 프로젝트가 여러 도메인에 있습니다. ID로 지정하세요.',
  not_member_of_project: '"{project}" 프로젝트의 구성원이 아닙니다. 속한 프로젝트: {projects}',
  resource_group_unknown: '"{group}" 자원 그룹이 없습니다.',
  domain_unknown: '"{domain}" 도메인이 없습니다.',
  task_cancelled: '작업이 취소되었습니다.',
  task_stopped: '작업을 실행하던 매니저가 멈췄습니다. 작업을 다시 시작하세요.',
  session_saves_already: '이 세션을 {reference} 이미지로 저장하는 중입니다. 끝날 때까지 기다리거나 취소하세요.',
  task_just_ending: '같은 작업이 막 끝나고 있습니다. 잠시 후 다시 시도하세요.',
  from_before_to: '시작이 끝보다 앞서야 합니다.',
  periods_at_most: '한 번에 기간 {limit}개까지 볼 수 있습니다.',
  days_at_most: '한 번에 {limit}일까지 볼 수 있습니다.',
  choose_other_address: '다른 주소를 사용하세요.',
  address_letters:
    '주소 {email}의 @ 앞부분에 다른 글자와 비슷해 보이는 글자가 있습니다. a–z의 영문자, 숫자, 기호만 있는 주소를 사용하세요.',
  only_console: '콘솔 프로세스만 할 수 있습니다.',
  own_account_elsewhere: '자신의 계정은 내 계정 페이지에서 바꾸세요(API: {request}).',
  try_again: '다시 시도하세요.',
  only_admin_chooses_keys: '관리자만 키를 직접 정할 수 있습니다. 비워 두면 무작위 키가 만들어집니다.',
  keypair_accepted_before: '활성화하거나, 삭제하고 새로 만드세요.',
  keypair_waits: '계정 화면에서 수락하거나 `berth keypair accept`를 실행하세요. 비밀 키는 그때 표시됩니다.',
  keypair_waits_for_owner: '{email} 님만 수락할 수 있습니다.',
  mail_brings_link: '이 사용자에게 메일을 보낼 수 있습니다. 새 비밀번호 링크를 만들면 사용자에게만 메일로 전송됩니다.',
  own_password_before_factor:
    '다른 사람이 내 비밀번호를 알 수 있습니다. 먼저 메일로 받는 링크로 새 비밀번호를 정하세요. 로그아웃한 뒤 로그인 화면에서 ‘비밀번호를 잊으셨나요?’를 누르세요.',
  only_superadmin_keeps_password:
    '직접 정한 비밀번호는 첫 로그인에서 바뀝니다. 프로그램용 계정의 비밀번호를 그대로 둘 수 있는 것은 최고 관리자뿐입니다.',
  only_owner_activates: '키 쌍은 소유자만 활성화할 수 있습니다. 비활성화하거나 삭제할 수는 있습니다.',
  only_person_accepts:
    '키 쌍을 만들거나 수락하거나 활성화하려면 직접 로그인하세요. 다른 키 쌍으로 한 요청이나 로그인으로는 할 수 없습니다.',
  only_person_decides:
    '계정에 들어갈 수 있는 사람이나 권한을 정하는 작업이므로 직접 로그인해서 하세요. 키 쌍으로 한 요청이나 로그인으로는 할 수 없습니다.',
  prove_with_password: '비밀번호도 보내세요. 2단계 인증을 쓰면 코드도 필요합니다. 또는 다시 로그인하세요.',
  prove_by_sign_in: '계정에 비밀번호가 없습니다. 다시 로그인한 뒤 10분 안에 다시 시도하세요.',
  only_superadmin_policy: '최고 관리자만 자원 정책을 정할 수 있습니다.',
  only_superadmin_rate_limit: '최고 관리자만 요청 수 한도를 정할 수 있습니다.',
  keypair_requests: '이 키 쌍은 15분 동안 요청을 {limit}개까지 보낼 수 있습니다. {seconds}초 뒤에 다시 시도하세요.',
  access_key_or_signature: '액세스 키나 서명이 틀렸습니다.',
  signed_before_restore: '데이터베이스를 복원하기 전에 서명한 요청입니다. 다시 서명하세요.',
  account_domain_deactivated: '관리자가 계정의 도메인을 비활성화했습니다.',
  sign_separately: '요청마다 따로 서명하세요.',
  clock_behind: '시계가 서버보다 {seconds}초 늦습니다.',
  clock_ahead: '시계가 서버보다 {seconds}초 빠릅니다.',
  ssh_key_private: '개인 키입니다. .pub 파일의 내용을 보내세요.',
  ssh_key_one_line: '키를 한 줄로 보내세요.',
  ssh_key_types: '키는 다음 중 하나로 시작해야 합니다: {types}',
  ssh_key_unreadable: '키를 읽을 수 없습니다. .pub 파일의 줄 전체를 복사하세요.',
  ssh_key_rsa_bits: 'RSA 키는 {bits}비트 이상이어야 합니다.',
  only_owner_changes: '소유자만 바꿀 수 있습니다.',
  only_admin_changes_project_folder: '프로젝트의 폴더이므로 관리자만 바꿀 수 있습니다.',
  no_storage_for_you: '폴더에 사용할 수 있는 스토리지가 없습니다. 관리자에게 요청하세요.',
  storage_not_for_you: '"{storage}" 스토리지를 사용할 수 없습니다. 사용할 수 있는 스토리지: {yours}',
  kernel_unknown: '세션에 "{kernel}" 컨테이너가 없습니다.',
  session_terminated: '세션이 종료되었습니다.',
  gpu_chosen_without_gpu: 'GPU를 요청하지 않고 GPU 종류({gpu})를 골랐습니다. GPU나 GPU 일부를 함께 요청하세요.',
  no_host_has_any: '필요한 자원: {needed}. 이 자원이 있는 호스트가 없습니다. 더 적게 요청하세요.',
  host_offers_at_most: '필요한 자원: {needed}. 한 호스트가 줄 수 있는 양은 {largest}까지입니다. 더 적게 요청하세요.',
  host_offers_beside_the_rest:
    '필요한 자원: {needed}. 요청의 나머지와 함께 한 호스트가 줄 수 있는 양은 {largest}까지입니다. 더 적게 요청하세요.',
  page_end_deleted: '앞 페이지의 마지막 세션이 그사이 삭제되었습니다. 첫 페이지부터 다시 시작하세요.',
  only_admin_forces_end: '관리자만 에이전트를 기다리지 않고 세션을 종료할 수 있습니다.',
  start_time_passed: '시작 시각이 지났습니다.',
  start_time_within: '시작 시각은 {days}일 안이어야 합니다.',
  extension_until: '세션의 자원 정책은 늦어도 {time}까지만 실행을 허용합니다.',
  session_named_one_of: '다음 이름 중에 이미 실행 중인 세션이 있습니다: {names}. 다른 이름을 고르세요.',
  storage_at_silent: '{path} 경로의 "{storage}" 스토리지가 응답하지 않습니다.',
  storage_at_other: '{path} 경로에 "{storage}" 스토리지가 아닌 다른 스토리지가 마운트되어 있습니다.',
  storage_at_unmounted: '"{storage}" 스토리지가 {path} 경로에 마운트되어 있지 않습니다({file} 파일 없음).',
  storage_at_unusable: '{path} 경로의 "{storage}" 스토리지를 사용할 수 없습니다: {text}',
  storage_at_not_empty:
    '{path} 경로가 빈 디렉터리가 아닙니다. "{storage}" 스토리지에는 마운트된 전용 디렉터리가 필요합니다.',
  storage_at_has_name:
    '{path} 경로의 스토리지는 이 Berth의 다른 스토리지이므로 "{storage}" 이름을 함께 쓸 수 없습니다.',
  storage_at_differs:
    '다른 매니저가 "{storage}" 이름으로 다른 스토리지를 씁니다. {path} 경로에 같은 것을 마운트하세요.',
  terminal_name: '터미널의 이름에는 a-z, 0-9, "-"만 쓸 수 있습니다.',
  terminal_size: '터미널의 열과 행은 1~1000이어야 합니다.',
  address_silent: '{address} 주소가 응답하지 않습니다.',
  path_parts_at_most:
    '한 요청의 경로들은 디렉터리와 이름을 합쳐 {limit}개까지 담을 수 있습니다. 한 번에 더 적은 경로를 지정하세요.',
  bundle_entries_at_most: '한 묶음에는 항목을 {limit}개까지 담을 수 있습니다.',
  bundle_header_too_long: '항목의 머리 부분이 너무 깁니다.',
  bundle_bytes_at_most: '한 묶음에는 파일을 {bytes}바이트까지 담을 수 있습니다.',
  bundle_cut: '항목 중간에서 전송이 끝났습니다.',
  idempotency_key_new: '새 요청에는 새 키를 사용하세요.',
  file_has_bytes: '파일의 크기는 {bytes}바이트입니다.',
  streams_at_most:
    '이 로그인으로 연 이벤트 스트림이 한 로그인의 한도인 {limit}개에 이르렀습니다. 이 로그인을 쓰는 페이지나 프로그램을 몇 개 닫은 뒤 다시 시도하세요.',
  streams_of_person:
    '열려 있는 이벤트 스트림이 한 사람의 한도인 {limit}개에 이르렀습니다. 페이지나 프로그램을 몇 개 닫은 뒤 다시 시도하세요.',
  field_wrong: '올바르지 않은 값, {field}: {text}',
  fields_wrong: '올바르지 않은 값, {field}: {text} (그 밖에 {count}개)',
  request_form: '요청의 형식이 올바르지 않습니다.',
  agent_says: '에이전트 메시지: {text}',
  host_at_other_manager:
    '호스트가 다른 매니저에는 연결되어 있지만 이 매니저에는 연결되어 있지 않습니다. 관리자는 "berth admin manager ls" 명령으로 원인을 볼 수 있습니다.',
  host_not_connected: '호스트가 연결되어 있지 않습니다. 다시 연결되면 시도하세요.',
  agent_named: '에이전트 {agent}:',
  agent_sent_nothing: '에이전트가 너무 오랫동안 아무것도 보내지 않았습니다.',
  agent_newer_connection: '에이전트가 새 연결을 열었습니다.',
  manager_stopping: '매니저가 멈추고 있습니다.',
  connection_lost: '연결이 끊겼습니다.',
  agent_removed: '에이전트가 이 매니저에서 제거되었습니다.',
  agent_answer_unreadable:
    '에이전트가 {request} 요청에 보낸 응답을 매니저가 읽을 수 없습니다. 둘을 같은 버전으로 업데이트하세요.',
  agent_not_connected: '에이전트가 연결되어 있지 않습니다.',
  agent_no_answer: '에이전트가 {request} 요청에 {seconds}초 안에 응답하지 않았습니다.',
  not_a_manager: '{where} 서버는 Berth 매니저가 아닙니다. 주소를 확인하세요.',
  http_status: 'HTTP 상태 {status}',
  start_cancelled: '시작이 취소되었습니다.',
  attempt_failed: '이번 시도가 실패했습니다.',
  agent_connections: '이 에이전트의 연결이 너무 많습니다.',
  manager_gone: '지정한 매니저가 없거나 더는 실행되고 있지 않습니다.',
  bundle_header_wrong: '항목의 머리 부분이 올바르지 않습니다: {field} {text}',
} satisfies Translation<typeof CAUSES>
