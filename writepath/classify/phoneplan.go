package classify

import "strings"

// numberingPlan tells, for each country code, how long its national numbers are, and which
// are reserved for fiction.
type numberingPlan struct {
	lengths map[string][2]int
	fiction map[string][]string
}

// planTable has the country codes of ITU-T E.164 with the least and the most digits of a
// national significant number.
const planTable = `1:10-10 20:8-10 211:9-9 212:9-9 213:8-9 216:8-8 218:8-9 220:7-7 221:9-9 222:8-8 223:8-8 224:8-9 225:10-10
	226:8-8 227:8-8 228:8-8 229:8-10 230:7-8 231:7-9 232:8-8 233:9-9 234:8-10 235:8-8 236:8-8 237:8-9 238:7-7 239:7-7
	240:9-9 241:7-8 242:9-9 243:7-9 244:9-9 245:7-9 246:7-7 247:4-5 248:7-7 249:9-9 250:8-9 251:9-9 252:7-9 253:8-8
	254:9-10 255:9-9 256:9-9 257:8-8 258:8-9 260:9-9 261:9-9 262:9-9 263:7-10 264:8-9 265:7-9 266:8-8 267:7-8 268:8-8
	269:7-7 27:9-9 290:4-5 291:7-7 297:7-7 298:6-6 299:6-6 30:10-10 31:9-9 32:8-9 33:9-9 34:9-9 350:8-8 351:9-9 352:6-11
	353:7-10 354:7-9 355:8-9 356:8-8 357:8-8 358:6-12 359:7-9 36:8-9 370:8-8 371:8-8 372:7-8 373:8-8 374:8-8 375:9-9
	376:6-9 377:8-9 378:6-10 380:9-9 381:8-10 382:8-8 383:8-9 385:8-9 386:8-8 387:8-8 389:8-8 39:6-11 40:9-9 41:9-9
	420:9-9 421:9-9 423:7-9 43:6-13 44:9-10 45:8-8 46:7-10 47:8-8 48:9-9 49:7-12 500:5-5 501:7-7 502:8-8 503:8-8 504:8-8
	505:8-8 506:8-8 507:7-8 508:6-6 509:8-8 51:8-9 52:10-10 53:8-8 54:10-11 55:10-11 56:9-9 57:10-10 58:10-10 590:9-9
	591:8-8 592:7-7 593:8-9 594:9-9 595:8-9 596:9-9 597:6-7 598:8-8 599:7-8 60:8-10 61:9-9 62:8-12 63:8-10 64:8-10
	65:8-8 66:8-9 670:7-8 672:6-6 673:7-7 674:7-7 675:7-8 676:5-7 677:5-7 678:5-7 679:7-7 680:7-7 681:6-6 682:5-5 683:4-7
	685:5-7 686:5-8 687:6-6 688:5-6 689:6-8 690:4-7 691:7-7 692:7-7 7:10-10 81:9-10 82:8-10 84:9-10 850:8-10 852:8-8
	853:8-8 855:8-9 856:8-10 86:10-11 880:8-10 886:8-9 90:10-10 91:10-10 92:9-10 93:9-9 94:9-9 95:7-10 960:7-7 961:7-8
	962:8-9 963:8-9 964:8-10 965:8-8 966:8-9 967:7-9 968:8-8 970:8-9 971:8-9 972:8-9 973:8-8 974:8-8 975:8-8 976:8-8
	977:8-10 98:10-10 992:9-9 993:8-8 994:9-9 995:9-9 996:9-9 998:9-9`

// fictionTable has the beginnings of numbers that the authorities keep for films and books, by
// country code: the rules of ACMA, ARCEP, the Bundesnetzagentur, Ofcom, ComReg and PTS. Those
// of North America are in validNANP.
const fictionTable = `44:1632960 44:7700900 44:2079460 44:8081570 44:9098790 44:1134960 44:1144960 44:1154960 44:1164960 44:1174960
	44:1184960 44:1214960 44:1314960 44:1414960 44:1514960 44:1614960 44:1914980 44:2896496 44:2920180 44:3069990
	61:491570 61:255501 61:255507 61:355501 61:355507 61:370101 61:755501 61:755507 61:855501 61:855507 61:180016
	33:19900 33:26191 33:35301 33:46571 33:53649 33:63998 49:3023125 49:6990009 49:4066969 49:2214710 49:8999998
	49:15228817386 49:15228895456 49:15228954123 49:17139200 49:17604069 49:17933346 353:2091 46:31390060 46:40628040
	46:84650040 46:98031920 46:701740605 46:701740606`

func newNumberingPlan() *numberingPlan {
	p := numberingPlan{lengths: map[string][2]int{}, fiction: map[string][]string{}}
	for entry := range strings.FieldsSeq(planTable) {
		code, bounds, _ := strings.Cut(entry, ":")
		least, most, _ := strings.Cut(bounds, "-")
		p.lengths[code] = [2]int{atoi(least), atoi(most)}
	}
	for entry := range strings.FieldsSeq(fictionTable) {
		code, prefix, _ := strings.Cut(entry, ":")
		p.fiction[code] = append(p.fiction[code], prefix)
	}
	return &p
}

// maxE164 is the most digits of an international number.
const maxE164 = 15

// valid reports whether digits, with the country code, can be the number of a telephone.
func (p *numberingPlan) valid(digits string) bool {
	if len(digits) > maxE164 {
		return false
	}
	for n := 1; n <= 3 && n < len(digits); n++ {
		bounds, ok := p.lengths[digits[:n]]
		if !ok {
			continue
		}
		code, national := digits[:n], digits[n:]
		switch {
		case len(national) < bounds[0] || len(national) > bounds[1] || sameDigits([]byte(national)), strings.HasPrefix(digits, "123456789"):
			return false
		case code == "1":
			return validNANP(national)
		default:
			return !hasAnyPrefix(national, p.fiction[code]...)
		}
	}
	return false
}

// validNANP applies the rules of the North American plan to ten digits, less 555-01xx, which
// is fiction, and the codes of services.
func validNANP(d string) bool {
	if len(d) != 10 || d[0] < '2' || d[3] < '2' || d[1] == '9' || d[1:3] == "11" || d[4:6] == "11" {
		return false
	}
	return d[3:8] != "55501" && d[3:] != "5551212" && d != "2345678901"
}
