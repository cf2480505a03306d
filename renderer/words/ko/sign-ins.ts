import type en from '../en/sign-ins.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '로그인 목록',
  what: '로그인되어 있는 브라우저와 프로그램입니다. 종료하면 그 화면, 터미널, 연결이 바로 닫힙니다. 세션은 계속 실행됩니다.',
  thisOne: '현재 로그인',
  unknownDevice: '알 수 없는 프로그램',
  facts: '{address}에서 · {since}부터',
  lastUsed: '마지막 사용 {when}',
  usedNow: '지금 사용 중',
  withKey: '액세스 키 {key} 사용',
  end: '종료',
  endOf: '{device} ({address}) 로그인 종료',
  endOthers: '나머지 모두 종료',
  endOthersTitle: '다른 로그인을 모두 종료할까요?',
  endOthersText:
    '그 화면, 터미널, 연결이 바로 닫히고, 명령줄 같은 프로그램은 다시 로그인해야 합니다. 세션은 계속 실행됩니다.',
  ended: '로그인을 종료했습니다.',
  othersEnded: '{count, plural, =0 {다른 로그인이 없습니다.} other {로그인 #개를 종료했습니다.}}',
  showAll: '{count, plural, other {#개 더 보기}}',
  loading: '로그인 목록을 불러오는 중',

  accessKey: '액세스 키',
  secretKey: '비밀 키',
  enterAccessKey: '액세스 키를 입력하세요',
  enterSecretKey: '비밀 키를 입력하세요',
  keyHint: '액세스 키가 비활성화되거나 삭제되면 로그인도 종료됩니다.',
} satisfies Translation<typeof en>
