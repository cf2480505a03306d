import type en from '../en/titles.ts'
import { type Translation } from '../message-types.ts'

export default {
  signIn: '로그인',
  signInCode: '로그인 코드',
  start: '환영합니다',
  signUp: '가입',
  forgotPassword: '비밀번호 찾기',
  newPassword: '새 비밀번호',
  confirmAddress: '이메일 주소 확인',
  summary: '요약',
  sessions: '세션',
  session: '세션',
  logs: '로그',
  files: '파일',
  folders: '데이터와 스토리지',
  statistics: '통계',
  information: '정보',
  tunnels: '터널',
  preferences: '설정',
  account: '내 계정',
  terminal: '터미널',
  notFound: '찾을 수 없음',
} satisfies Translation<typeof en>
