import type en from '../en/information.ts'
import { type Translation } from '../message-types.ts'

export default {
  information: '정보',
  versions: '버전',
  host: '프록시 또는 데스크톱 앱',
  managers: '매니저',
  agents: '에이전트',
  unknown: '알 수 없음',
  forAdmins: '관리자에게 표시됩니다',
  check: '연결 확인',
  checkAgain: '다시 확인',
  checkApi: '매니저 응답',
  checkEvents: '변경 사항 즉시 수신',
  checkHost: '프록시 응답',
  checkSessions: '실행 중인 내 세션의 호스트',
  sessionsOk: '{count, plural, =0 {실행 중인 세션이 없습니다} other {세션 #개 연결됨}}',
  sessionsLost: '세션 {count, number}개 중 {lost, number}개에 연결할 수 없습니다. 세션은 계속 실행됩니다',
  checkOk: '정상, {ms, number} ms',
  checkLive: '정상',
  checkWaiting: '연결이 끊겼습니다. 화면이 자동으로 다시 연결합니다',
  checking: '확인하는 중…',
  errors: '이 화면의 오류',
  noErrors: '탭을 연 뒤로 오류가 없습니다.',
  copyErrors: '모두 복사',
  exportErrors: '텍스트로 저장',
  errorsHint:
    '최근 오류 {count, number}개이며 최신순입니다. 새로 고쳐도 남아 있으며, 탭을 닫거나 로그아웃하면 지워지고 어디로도 보내지 않습니다.',
} satisfies Translation<typeof en>
