import { type LOCAL_CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Causes that the programs on the computer of a user report, by key. English is their text (`manager/contract/causes/local.ts`). */
export default {
  berth_away: '{server} 서버가 응답하지 않습니다. 주소가 맞는지, 그곳에서 Berth가 실행 중인지 확인하세요.',
  listener_of_other_user:
    '{server}에서 {user} 사용자의 프로그램이 연결을 받고 있습니다. 로그인할 때는 Berth가 다른 사용자로 실행되었으므로 로그인 정보를 보내지 않았습니다. 그 프로그램이 Berth라면 다시 로그인하세요. 명령줄에서는 berth login을 쓰고, 데스크톱 앱에서는 서버를 다시 선택하면 됩니다. 아니라면 Berth가 멈춘 동안 다른 사람이 포트를 차지한 것이니 관리자에게 알리세요. https:// 주소를 쓰면 이런 일이 없습니다.',
  certificate_untrusted:
    '서버의 인증서를 신뢰할 수 없습니다: {text}. 인증 기관을 이 시스템에 추가하거나, 데스크톱 앱에서 인증 기관의 파일을 선택하거나, 명령줄에서는 NODE_EXTRA_CA_CERTS에 파일을 지정하세요.',
  no_user_entry:
    '이 컴퓨터의 사용자 목록(/etc/passwd)에 사용자 ID {uid} 항목이 없습니다. PostgreSQL에는 그 항목이 필요합니다. 항목이 있는 사용자로 Berth를 시작하거나, 이 ID의 항목을 추가하거나, DATABASE_URL에 직접 운영하는 PostgreSQL을 지정하세요.',
  no_home_directory:
    '사용자 ID {uid}에 홈 디렉터리가 없습니다. 그 사용자의 디렉터리를 HOME에 지정하거나, --data 또는 BERTH_DATA로 데이터 디렉터리를, BERTH_CONFIG_DIR로 로그인 정보의 디렉터리를 지정하세요.',
  no_certificates_in: '{file}에 인증 기관의 인증서(PEM)가 없습니다.',

  program_not_found: '이 컴퓨터에서 이 프로그램을 찾지 못했습니다.',
  program_needs_ssh_config: '이 프로그램은 SSH 설정으로만 세션을 찾습니다. 설정에서 켜세요.',
  program_not_started: '{program} 프로그램이 시작되지 않았습니다: {text}',
  drive_not_made: '세션의 파일을 마운트하지 못했습니다: {text}',
  drive_no_letter: '남은 드라이브 문자가 없습니다.',

  not_reached_in_time: '세션에 제시간에 연결하지 못했습니다.',
  not_reached_in_time_because: '세션에 제시간에 연결하지 못했습니다. {text}',
  ended_while_opening: '터널을 여는 동안 세션이 끝났습니다.',
  program_closing: '프로그램이 연결을 닫고 있습니다.',
  manager_silent_for: '매니저가 {seconds}초 안에 응답하지 않았습니다.',
  manager_opened_no_tunnel: '매니저가 터널을 여는 대신 HTTP {status} 상태로 응답했습니다.',
  not_a_manager_there: '매니저의 주소에 있는 서버가 매니저가 아닙니다: {text}.',
  header_line_break: '{name} 헤더에 줄바꿈이 있습니다.',
  program_address: '프로그램을 위한 앱 주소는 세션 ID와 함께 /apps/SESSION/APP/입니다. 예: /apps/…/http-8000/',
  program_in_browser:
    '이 주소는 프로그램을 위한 것입니다. 브라우저에서는 콘솔에서 앱을 여세요. 프로그램은 Origin과 Sec-Fetch-Site를 보내지 않습니다.',
  program_token:
    '"apps" 권한이 있는 액세스 토큰을 보내세요: Authorization: Bearer TOKEN. 앱이 Authorization을 직접 쓰면 Berth-Authorization으로 보내세요.',
  no_web_app: '웹 앱이 아닌 앱입니다: {app}. 대신 포트를 여세요.',
  header_not_added: '에이전트가 Berth가 추가하지 않는 요청 헤더를 요구합니다.',
  port_of_tunnel:
    '{port}번 포트는 "{session}" 세션의 {app} 터널이 쓰고 있습니다. {offered}번 같은 다른 포트를 고르거나 임의의 포트를 쓰세요.',
  port_of_program:
    '{port}번 포트를 쓰는 프로그램: {program}(프로세스 {pid}). {offered}번 같은 다른 포트를 고르거나 임의의 포트를 쓰세요.',
  port_of_berth:
    '{port}번 포트는 Berth가 직접 쓰고 있습니다. {offered}번 같은 다른 포트를 고르거나 임의의 포트를 쓰세요.',
  port_of_unknown_program:
    '{port}번 포트는 어떤 프로그램(프로세스 {pid})이 쓰고 있습니다. {offered}번 같은 다른 포트를 고르거나 임의의 포트를 쓰세요.',
  port_of_nobody_known:
    '{port}번 포트는 다른 프로그램이 쓰고 있습니다. {offered}번 같은 다른 포트를 고르거나 임의의 포트를 쓰세요.',
  port_taken_on: '{host}의 {port}번 포트는 이미 쓰이고 있습니다.',
  console_port_taken:
    '{port}번 포트를 쓰는 프로그램: {program}(프로세스 {pid}). 이 프로그램을 종료하거나, 빈 포트를 고르는 "{command}" 명령을 쓰세요.',
  console_port_taken_by_nobody_known:
    '{port}번 포트는 다른 프로그램이 쓰고 있습니다. 이 프로그램을 종료하거나, 빈 포트를 고르는 "{command}" 명령을 쓰세요.',
  port_reserved: '{host}의 {port}번 포트는 시스템이 일부 프로그램에만 허용합니다. 1024번 이상의 포트를 고르세요.',
  tunnels_at_most:
    '한 사용자가 동시에 열 수 있는 터널은 {limit}개까지입니다. 앱 대화 상자의 "이 컴퓨터에서 열려 있음"에서 하나를 닫은 다음 다시 여세요.',
  app_open_elsewhere: '앱이 {port}번 포트에서 열려 있고 연결이 {connections}개 있습니다. 먼저 이 연결을 닫으세요.',
  session_not_yet_running: '세션이 {status} 상태입니다. RUNNING이 될 때까지 기다리세요.',
  folders_open_elsewhere:
    '폴더가 {port}번 포트에서 열려 있고 연결이 {connections}개 있습니다. 먼저 이 연결을 닫으세요.',
  ssh_data_unsafe: '매니저가 보낸 SSH 데이터는 안전하게 쓸 수 없습니다.',
  ssh_key_damaged: '개인 키를 읽을 수 없습니다: {text}.',
  only_desktop_app: '데스크톱 앱에서만 쓸 수 있습니다.',

  updates_away: '{host} 서버가 응답하지 않아 업데이트가 있는지 알 수 없습니다.',
  updates_no_list: '{host} 서버에 업데이트 목록이 없습니다(HTTP {status}).',
  updates_list_long: '업데이트 목록이 너무 깁니다.',
  updates_list_damaged: '업데이트 목록이 손상되어 쓰지 않았습니다.',
  updates_list_unsigned: '업데이트 목록에 이 Berth를 만든 사람들의 서명이 없어 쓰지 않았습니다.',
  updates_list_newer: '이 Berth가 이해하지 못하는 업데이트 목록이라 쓰지 않았습니다.',
  updates_key_foreign: '업데이트 목록의 서명 키를 이 Berth를 만든 사람들이 넘겨준 것이 아니어서 쓰지 않았습니다.',
  updates_key_damaged: '업데이트 목록의 키를 넘겨준 기록이 손상되어 쓰지 않았습니다.',
  updates_key_replaced: '이 Berth를 만든 사람들이 이미 바꾼 키로 서명된 업데이트 목록이라 쓰지 않았습니다.',
  updates_list_older: '전에 받은 것보다 오래된 업데이트 목록이라 쓰지 않았습니다.',
  updates_list_expired: '업데이트 목록의 기한이 지나({time}) 쓰지 않았습니다. 더 새로운 버전이 있을 수 있습니다.',
  update_not_downloaded: '{file} 파일을 내려받지 못했습니다.',
  update_not_signed: '{file} 파일은 서명된 파일이 아니어서 지웠습니다.',
  update_longer: '내려받은 파일이 서명된 것보다 길어서 지웠습니다.',
} satisfies Translation<typeof LOCAL_CAUSES>
