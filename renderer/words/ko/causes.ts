import { type CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Causes of errors by key. English is the server's text (`manager/contract/causes.ts`). */
export default {
  // 로그인
  account_deactivated: '관리자가 계정을 비활성화했습니다.',
  account_or_domain_deactivated: '관리자가 계정이나 도메인을 비활성화했습니다.',
  agree_to_terms: '먼저 약관에 동의하세요.',
  ask_admin_for_account: '관리자에게 계정을 요청하세요.',
  ask_admin_for_link: '관리자에게 링크를 요청하세요.',
  ask_for_new_invitation: '새 초대장을 요청하세요.',
  ask_for_new_link: '새 링크를 요청하세요. 이 링크를 이미 사용했다면 그냥 로그인하세요.',
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
  sso_account_other: '계정 {email}: 이 제공자의 다른 사용자와 연결되어 있습니다. 관리자에게 연결 해제를 요청하세요.',
  sso_account_unlinked:
    '계정 {email}: 이 제공자와 연결되어 있지 않습니다. 비밀번호로 로그인하거나 관리자에게 문의하세요.',
  sso_ask_for_account: '관리자에게 {email} 주소의 계정을 요청하세요.',
  sso_clock: '잠시 후 다시 시도하세요. 다시 발생하면 관리자가 두 서버의 시계를 확인해야 합니다.',
  sso_denied:
    '{provider}에서 로그인이 취소되었거나 거부되었습니다. 다시 시도하거나 {provider} 관리자에게 접근 권한을 요청하세요.',
  sso_email_domain: '{email} 주소로는 {provider}에서 로그인할 수 없습니다. 조직의 주소를 사용하세요.',
  sso_email_missing:
    '{provider}에서 이메일 주소를 보내지 않습니다. 관리자에게 제공자의 범위와 클레임 확인을 요청하세요.',
  sso_email_unverified: '{provider}에서 {email} 주소를 먼저 확인한 다음 다시 로그인하세요.',
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
  no_apps_address:
    '앱을 공개하려면 주소가 필요합니다. berth.toml의 console.appsAddress(BERTH_APPS_ADDRESS)를 설정하고 Berth를 다시 시작하세요.',
  smtp_password_in_clear:
    '{host}의 비밀번호가 암호화되지 않은 채 전송됩니다. smtpSecurity를 tls나 starttls로, 또는 smtpUser를 null로 설정하세요.',

  // 서버
  database_away: '데이터베이스가 응답하지 않습니다. 잠시 후 다시 시도하세요.',
  database_disk_full: '데이터베이스의 디스크가 가득 찼습니다. 관리자가 공간을 확보해야 합니다.',
  manager_away: '매니저가 응답하지 않습니다.',
  nothing_here: '이 주소에는 아무것도 없습니다.',
  request_too_long: '한도는 1 MiB입니다.',

  // 세션
  dependency_unknown: '기다릴 "{session}" 세션이 없습니다.',
  files_of_several: '컨테이너가 여러 개인 세션의 파일은 보관되지 않습니다. 새 세션을 시작하세요.',
  files_taken: '"{session}" 세션이 이 세션의 파일을 이어받았습니다.',
  files_taken_by_another: '다른 세션이 이 세션의 파일을 이어받았습니다.',
  host_left: '파일이 있는 호스트가 더 이상 Berth나 이 자원 그룹에 속하지 않습니다. 새 세션을 시작하세요.',
  image_unknown:
    '"{image}" 이미지가 있는 호스트가 없고, 사용할 수 있는 레지스트리에도 없습니다. 이미지 목록에서 시작할 수 있는 이미지를 확인하세요.',
  name_too_long: '"{name}" 이름이 너무 깁니다. 세션 이름은 64자까지입니다.',
  never_ran: '실행된 적이 없는 세션이므로 파일이 없습니다. 새 세션을 시작하세요.',
  not_shared_with: '이 사용자와 공유한 세션이 아닙니다.',
  no_project_no_members: '프로젝트에 속하지 않은 세션이므로 구성원이 없습니다.',
  policy_allows_none: '"{policy}" 자원 정책은 세션을 허용하지 않습니다. 관리자에게 다른 정책을 요청하세요.',
  project_deactivated: '관리자가 "{project}" 프로젝트를 비활성화했습니다. 다른 프로젝트를 선택하세요.',
  project_deleted: '프로젝트가 방금 삭제되었습니다.',
  project_deleted_choose: '프로젝트가 방금 삭제되었습니다. 다른 프로젝트를 선택하세요.',
  resource_group_closed_because: '관리자가 "{group}" 자원 그룹을 닫았습니다: {notice}',
  resource_group_closed: '관리자가 "{group}" 자원 그룹을 닫았습니다. 다른 자원 그룹을 선택하세요.',
  session_ended: '세션이 종료되었습니다.',
  session_is: '세션의 상태: {status}',
  session_just_ended: '세션이 방금 종료되었습니다.',
  templates_at_most: '템플릿이 {count}개 있습니다. {limit}개까지 저장할 수 있으니 하나를 삭제하세요.',
  template_unknown: '"{name}" 템플릿이 없습니다.',
  too_many_containers:
    '요청한 컨테이너는 {containers}개인데, "{policy}" 자원 정책은 세션 하나에 {limit}개까지 허용합니다. 수를 줄이세요.',
  user_unknown_to_launch: '세션을 대신 시작해 줄 수 있는 "{user}" 사용자가 없습니다.',
  yours_already: '이미 자신의 세션입니다.',

  // 앱과 연결
  app_refuses: '앱이 연결을 받지 않습니다.',
  app_silent: '앱이 제시간에 연결을 받지 않았습니다.',
  app_unknown: '세션의 이미지에는 열 수 있는 "{app}" 앱이 없습니다.',
  grant_for_another: '다른 세션이나 앱의 접근 권한입니다. 앱을 다시 여세요.',
  grant_over: '접근 권한이 만료되었거나 취소되었습니다. 앱을 다시 여세요.',
  host_silent: '이 세션의 호스트가 제시간에 연결을 열지 않았습니다. 다시 시도하세요.',
  host_without_session: '호스트가 이 세션을 실행하고 있지 않습니다.',
  link_hours: '여기서 링크는 최대 {hours}시간까지 유효합니다.',
  links_at_most: '링크는 {count}개까지 만들 수 있습니다. 먼저 다른 링크를 종료하세요.',
  not_an_address: '"{text}": 주소도 주소 범위도 아닙니다.',
  only_web_apps: '웹 앱만 공개할 수 있습니다. {app} 앱은 웹 앱이 아닙니다.',
  ports_taken: '범위의 모든 포트에 공개된 앱이 있습니다. 먼저 다른 링크를 종료하세요.',
  publishing_off: '관리자가 허용하지 않았습니다.',
  sign_in_ended_app: '앱이 시작되는 동안 로그인이 끝났습니다. 다시 로그인하세요.',
  too_many_waiting: '기다리는 연결이 이미 너무 많습니다. 잠시 후 다시 시도하세요.',
  tunnel_closed: '연결이 닫혔습니다.',
  tunnel_reopened: '그동안 연결이 닫혔습니다. 다시 여세요.',

  // 폴더와 파일
  copy_into_itself: '"{path}" 항목은 자기 안으로 복사할 수 없습니다.',
  dotfiles_at_most: '{count}개까지 보관됩니다. 먼저 하나를 제거하세요.',
  dotfile_unknown: '"{path}" 닷파일이 없습니다.',
  dotfiles_too_large:
    '모두 합쳐 {limit} KiB까지이고, 다른 닷파일이 {others} KiB를 차지합니다. 큰 파일은 폴더에 두세요.',
  download_expired: '링크가 만료되었습니다. 콘솔에서 다운로드를 다시 시작하세요.',
  file_there: '"{name}" 항목이 이미 있습니다.',
  folder_dot_of_project: '프로젝트의 폴더 이름은 점으로 시작할 수 없습니다.',
  folder_in_trash: '"{name}" 폴더는 휴지통에 있습니다. 먼저 복원하세요.',
  folder_not_own: '폴더의 소유자나 자신을 초대할 수는 없습니다.',
  folder_permission_of_project: '프로젝트의 폴더에만 권한을 지정할 수 있습니다.',
  folder_taken: '"{name}" 폴더가 이미 있습니다. 다른 이름을 선택하세요.',
  folder_trashed: '"{name}" 폴더가 휴지통으로 옮겨졌습니다.',
  invitation_over: '초대가 취소, 수락, 거절되었거나 만료되었습니다.',
  member_already: '{email} 님은 이미 "{name}" 폴더의 구성원입니다.',
  member_gone: '폴더에 더 이상 이 구성원이 없습니다.',
  neither_file_nor_directory: '"{name}": 파일도 디렉터리도 아닙니다.',
  special_file: '"{name}": 파이프나 소켓, 장치입니다.',
  storage_full: '"{storage}" 스토리지가 가득 찼습니다.',
  storage_silent: '"{storage}" 스토리지가 응답하지 않습니다.',
  storage_unmounted: '"{storage}" 스토리지가 방금 마운트 해제되었습니다.',
  text_too_long: '한도는 4 MiB입니다. 더 큰 파일은 업로드하세요.',
  upload_gone: '업로드가 취소되었거나 만료되었거나 없습니다. 다시 시작하세요.',
} satisfies Translation<typeof CAUSES>
