import type en from '../en/app.ts'
import { type Translation } from '../message-types.ts'

export default {
  skipToContent: '본문으로 건너뛰기',
  noServer:
    '<b>이 페이지의 서버에 연결할 수 없습니다.</b> 서버가 응답하지 않거나 네트워크가 끊겼습니다. 표시된 내용이 오래되었을 수 있으며, 세션은 계속 실행됩니다.',
  noConnection: '<b>매니저에 연결할 수 없습니다.</b> 표시된 내용이 최신이 아닐 수 있습니다. 세션은 계속 실행됩니다.',
  nextAttempt: '{seconds, number}초 후 다시 시도합니다.',
  connecting: '연결하는 중…',
  tryNow: '지금 시도',
  toSummary: 'Berth, 요약으로',
  pageNotFound: '페이지를 찾을 수 없습니다',
  mayBeOld: '주소가 오래되었거나 잘못 입력되었을 수 있습니다.',
  goToSummary: '요약으로 이동',
  sections: '메뉴',
  summary: '요약',
  sessions: '세션',
  account: '계정',
  theme: '테마',
  light: '밝게',
  dark: '어둡게',
  asSystem: '시스템 설정',
  accountOf: '{name} 님의 계정',
  superadmin: '최고 관리자: 모든 세션을 볼 수 있습니다',
  domainAdmin: '도메인 관리자: {domain} 도메인의 모든 세션을 볼 수 있습니다',
  yourAccount: '내 계정',
  changePassword: '비밀번호 변경',
  shortcuts: '키보드 단축키',
  signOut: '로그아웃',
  newSession: '새 세션',
  terminal: '터미널',
  openInvitations: '{count, plural, other {열린 초대 #개}}',
} satisfies Translation<typeof en>
