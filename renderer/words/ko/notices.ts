import type en from '../en/notices.ts'
import { type Translation } from '../message-types.ts'

export default {
  notices: '알림',
  unread: '{count, plural, =0 {읽지 않은 알림 없음} other {알림, 읽지 않음 #개}}',
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
