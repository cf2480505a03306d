import type en from '../en/notices.ts'
import { type Translation } from '../message-types.ts'

export default {
  notices: '알림',
  none: '아직 알림이 없습니다',
  clear: '모두 지우기',
  running: '{name} 세션이 실행 중입니다',
  failed: '{name} 세션이 실패했습니다',
  ended: '{name} 세션이 종료되었습니다',
  ending: '{name} 세션이 곧 종료됩니다',
  invitation: '{person} 님이 {name} 폴더에 초대했습니다',
  shared: '{person} 님이 {name} 세션을 공유했습니다',
  message: '{person}: {text}',
  backupFailed: 'Berth 백업에 실패했습니다. 유지 관리에서 원인을 확인하세요.',
  certificate: 'Berth의 인증서가 만료되었거나 곧 만료되거나 갱신되지 않았습니다. ‘Berth 정보’에서 할 일을 확인하세요.',
  gpuFault: '호스트의 GPU에서 세션을 시작하지 않습니다: {name}. 에이전트 페이지에서 원인을 확인하세요.',
  hostFault: '{name} 호스트에서 세션을 시작할 수 없습니다. 에이전트 페이지에서 원인을 확인하세요.',
  hostUpdate: '{name} 호스트의 업데이트가 실패했습니다. 에이전트 페이지에서 원인을 확인하세요.',
  webhookFailing: '{name} 웹훅에 하루 동안 이벤트를 보내지 못해 포기했습니다. 웹훅 페이지에서 원인을 확인하세요.',
  webhookOff: '{name} 웹훅이 꺼졌습니다. 수신 측이 이벤트를 받지 않습니다. 웹훅 페이지에서 원인을 확인하세요.',
  webhookOwner: '{name} 웹훅이 꺼졌습니다. 소유자에게 더 이상 관리 권한이 없습니다.',
  hostWell: '{name} 호스트에서 다시 세션을 시작할 수 있습니다.',
  told_own_keypair_made: '내 계정에 만들어진 액세스 키: {name}. 내가 한 일이 아니면 삭제하세요.',
  told_own_keypair_activated: '내 계정에서 활성화된 액세스 키: {name}. 내가 한 일이 아니면 삭제하세요.',
  told_own_token_made: '내 계정에 만들어진 액세스 토큰: {name}. 내가 한 일이 아니면 끝내세요.',
  told_own_identity_linked: '내 계정에 연결된 로그인 제공자의 계정: {name}. 내가 한 일이 아니면 연결을 해제하세요.',
  told_own_link_used:
    '관리자 손을 거친 링크로 비밀번호가 설정되었습니다. 나만 아는 다른 비밀번호로 바꾸세요. 링크를 쓴 사람이 내가 아니면 다른 사람이 내 계정에 들어온 것입니다.',
  told_own_password_ended:
    '다른 사람이 내 비밀번호를 알았을 수 있으므로, 로그인 제공자로 로그인할 때 그 비밀번호가 무효가 되었습니다. 새 비밀번호를 정하려면 링크를 요청하세요.',
  told_own_mapping_ended:
    '로그인 제공자를 통해 받았던 권한이 회수되었습니다: {name}. 제공자로 다시 로그인하거나 관리자에게 문의하세요.',
  told_own_password_chosen:
    '다른 사람이 알았을 수 있는 비밀번호가 새 비밀번호로 바뀌었습니다. 내가 한 일이 아니면 다른 사람이 내 계정에 들어온 것입니다.',
  told_own_script_by_keypair:
    '액세스 키로 시작 스크립트가 설정되었습니다: {name}. 새 세션마다 실행됩니다. 내 것이 아니면 스크립트와 키를 모두 삭제하세요.',
  told_own_dotfiles_by_keypair:
    '액세스 키로 닷파일이 설정되었습니다: {name}. 새 세션마다 들어갑니다. 내 것이 아니면 닷파일과 키를 삭제하세요.',
  told_own_ssh_key_by_keypair:
    '액세스 키로 SSH 키가 설정되었습니다: {name}. 이 SSH 키로 새 세션에 접속할 수 있습니다. 내 것이 아니면 SSH 키를 바꾸고 액세스 키를 삭제하세요.',
  told_own_sessions_by_keypair:
    '더는 유효하지 않은 액세스 키로 시작된 세션: {name}. 실행 중이거나 대기 중인 세션은 계속됩니다. 내 것이 아니면 종료하고 다시 시작하지 마세요.',
  told_own_made_since_keypair:
    '액세스 키가 더는 유효하지 않습니다. 키가 활성화된 뒤에 만들어지거나 저장되거나 공유된 것과 새 세션마다 들어가는 것: {name}. 내 것이 아닌 것이 있는지 확인하세요.',
  told_left_keypairs:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 만들어지거나 활성화된 액세스 키를 비활성화했습니다: {name}. 내 것은 다시 활성화하세요.',
  told_left_identities:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 연결된 로그인 제공자 계정의 연결을 해제했습니다. 내 것은 다시 연결하세요.',
  told_left_script: '다른 사람이 내 비밀번호를 알았을 수 있는 동안 시작 스크립트가 바뀌었습니다. 내용을 확인하세요.',
  told_left_dotfiles: '다른 사람이 내 비밀번호를 알았을 수 있는 동안 바뀐 닷파일: {name}. 내 것이 아니면 삭제하세요.',
  told_left_folders:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 만들어졌거나 새 세션마다 들어가는 폴더: {name}. 무엇이 들어 있는지 확인하세요.',
  told_left_ssh_key: '다른 사람이 내 비밀번호를 알았을 수 있는 동안 SSH 키가 바뀌었습니다. 내 것이 아니면 바꾸세요.',
  told_left_second_factor:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 2단계 인증이 켜졌습니다. 내가 한 일이 아니면 슈퍼관리자에게 문의하세요.',
  told_left_sessions:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 시작되었거나 실행 중이던 세션: {name}. 내 것이 아니면 종료하고 다시 시작하지 마세요.',
  told_left_images:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 내 세션에서 저장되었거나 요청된 이미지: {name}. 내 것이 아니면 사용하지 마세요.',
  told_left_templates:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 저장된 템플릿과 이미지 설정: {name}. 내 것이 아니면 사용하기 전에 삭제하세요.',
  told_left_shares:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 공유된 것: {name}. 내가 공유하지 않았으면 취소하세요.',
  told_left_links: '다른 사람이 내 비밀번호를 알았을 수 있는 동안 만들어진 링크: {name}. 내 것이 아니면 철회하세요.',
  told_left_invitations:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 내 이름으로 만들어진 초대: {name}. 내 것이 아니면 ‘초대’ 화면에서 철회하고, 그 초대로 만들어진 계정은 ‘사용자’ 화면에서 비활성화하세요.',
  told_left_account_links:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 다음 계정의 비밀번호 링크가 발급되었습니다: {name}. ‘사용자’ 화면에서 각 계정의 로그인을 모두 종료하면 링크도 무효가 됩니다.',
  told_left_webhooks:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 만들어졌거나 변경되었을 수 있는 웹훅: {name}. 어디로 이벤트를 보내는지 확인하고, 내 것이 아니면 삭제하세요.',
  told_left_scim_tokens:
    '다른 사람이 내 비밀번호를 알았을 수 있는 동안 내 이름으로 만들어진 SCIM 토큰: {name}. 내 것이 아니면 끝내고(berth admin scim-token), 그 토큰으로 한 일을 감사 로그에서 확인하세요.',
  andMore: '{name} 외 {count}개',
  told_account_made: '{person} 님이 내 계정을 만들었습니다.',
  told_account_made_password:
    '{person} 님이 내 계정을 만들고 첫 비밀번호를 정했습니다. 다른 사람이 모르는 비밀번호로 바꾸세요.',
  told_keypair_made: '{person} 님이 만든 액세스 키: {name}. 수락하기 전에는 아무것도 열 수 없습니다.',
  told_keypair_changed: '{person} 님이 액세스 키 {name}의 한도를 바꿨습니다.',
  told_keypair_deactivated: '{person} 님이 비활성화한 액세스 키: {name}. 나만 다시 활성화할 수 있습니다.',
  told_keypair_deleted: '{person} 님이 삭제한 액세스 키: {name}.',
  told_password_set: '{person} 님이 내 계정의 비밀번호를 새로 정했습니다.',
  told_password_link: '{person} 님이 내 계정의 새 비밀번호를 설정하는 링크를 만들었습니다.',
  told_password_ended: '다른 사람이 정한 비밀번호였으므로 {person} 님이 계정을 바꿀 때 사용이 끝났습니다.',
  told_role_changed: '{person} 님이 내 역할을 바꿨습니다.',
  told_domain_changed: '{person} 님이 내 계정을 {name} 도메인으로 옮겼습니다.',
  told_second_factor_off: '{person} 님이 내 2단계 인증을 껐습니다.',
  told_account_deactivated: '{person} 님이 내 계정을 비활성화했습니다.',
  told_account_activated: '{person} 님이 내 계정을 다시 활성화했습니다.',
  told_account_changed: '{person} 님이 내 계정의 이름, 메모 또는 한도를 바꿨습니다.',
  told_sign_ins_ended: '{person} 님이 내 로그인을 모두 종료했습니다.',
  told_identities_unlinked: '{person} 님이 내 계정과 로그인 제공자의 연결을 해제했습니다.',
  told_projects_changed: '{person} 님이 내가 속한 프로젝트를 바꿨습니다.',
  told_session_launched: '{person} 님이 나를 위해 세션을 시작했습니다. 시작 명령은 내가 정한 것이 아닙니다.',
  uploaded: '파일 {count}개를 업로드했습니다',
  uploadFailed: '파일 {count}개를 업로드하지 못했습니다',
  desktop: '데스크톱 알림',
  desktopHint:
    '세션이 실행되거나 종료될 때, 곧 종료될 때, 초대를 받을 때 다른 창을 보고 있어도 알려 줍니다. 이 컴퓨터에만 적용됩니다.',
  desktopOn: '데스크톱 알림 표시',
  desktopDenied: '브라우저가 이 화면의 알림을 차단하고 있습니다. 브라우저 설정에서 허용하세요.',
  desktopMissing: '이 브라우저에는 데스크톱 알림이 없습니다.',
  tunnelsLost: '{count, plural, other {터널 #개의 연결이 끊겼습니다}}',
  tunnelsBack: '{count, plural, other {터널 #개가 다시 연결되었습니다}}',
} satisfies Translation<typeof en>
